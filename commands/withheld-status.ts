import type { Log } from '../infra/ports/log.ts'
import type { WarehouseReader } from '../infra/ports/warehouse.ts'

/** A closed day that is in no figure for some of its validators, or for all. */
export interface WithheldDay {
  readonly day: string
  /** Of how many validators the day is whole. */
  readonly validators: number
  /** Of those: how many days nothing explains. */
  readonly unexplained: number
  /** And how many were computed of a state that no block names. */
  readonly unanchored: number
}

const WITHHELD_DAYS = `
  SELECT chain, toString(day) AS date, validators, validators_unexplained AS unexplained, validators_unanchored AS unanchored
  FROM closed_days FINAL WHERE validators_unexplained + validators_unanchored > 0 ORDER BY chain, day`

/** By chain, ascending; a chain without such days is left out. */
export async function readWithheld(warehouse: WarehouseReader): Promise<ReadonlyMap<string, readonly WithheldDay[]>> {
  const rows = await warehouse.query<Omit<WithheldDay, 'day'> & { readonly chain: string; readonly date: string }>(
    WITHHELD_DAYS,
  )
  const byChain = Map.groupBy(rows, ({ chain }) => chain)
  return new Map(
    [...byChain].map(([chain, own]) => [chain, own.map(({ chain: _, date, ...counts }) => ({ day: date, ...counts }))]),
  )
}

/** Of a chain, in one line of the log. */
const WARNED_DAYS_MAX = 3

/** Warns once of each chain that has such days: whoever has upgraded finds fewer days in REST than before. */
export async function warnOfWithheld(warehouse: WarehouseReader, log: Pick<Log, 'warn'>): Promise<void> {
  for (const [chain, days] of await readWithheld(warehouse)) {
    const said = `${chain}: ${withheldLine(days, WARNED_DAYS_MAX)}; \`epochline status\` shows them`
    log.warn({ chain, days: days.length }, said)
  }
}

/** A line for people: the first `shownMax` days, and what brings them back. */
export function withheldLine(days: readonly WithheldDay[], shownMax: number): string {
  const shown = days.slice(0, shownMax).map(({ day, validators, unexplained, unanchored }) => {
    const reasons = [
      ...(unexplained === 0 ? [] : [`${unexplained} unexplained`]),
      ...(unanchored === 0 ? [] : [`${unanchored} unanchored`]),
    ]
    return `${day} ${reasons.join(', ')} of ${validators} validators`
  })
  const more = days.length > shown.length ? `; and ${days.length - shown.length} more` : ''
  return (
    `${days.length} ${days.length === 1 ? 'day is' : 'days are'} withheld from figures: ${shown.join('; ')}${more}: ` +
    'gaps --repair reads anew what a node can prove, verify names what is left'
  )
}
