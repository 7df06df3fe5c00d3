import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { DAY_OFFSET_SEC, type DayNumber, epochOf, formatDay, parseDay } from '../../schemas/eth/time.ts'
import { type LocalDay, localDay } from '../../schemas/eth/utc-offset.ts'
import { type DayLevel, newestToldSql } from '../../schemas/tables/day-levels.ts'
import { askInParts, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import { LOCAL_DAYS, validatorDaysSql } from '../../schemas/tables/validator-days.ts'
import { type AccountScope, isIn, type SeenValidator } from '../http/seen-validators.ts'
import type { Horizon } from './horizon.ts'
import type { Days } from './kept-spans.ts'
import { type ValidatorDayRow, validatorDays } from './validator-days.ts'

// Days of UTC+8 are those that are stored. Days by another offset are stored nowhere: they are summed of the detail of the UTC+8 days that they lie in, each of which has to
// be closed and anchored. Then nothing of any slot is unexplained, and a balance within an epoch follows from that at its end.

/** The days of a window by an offset, as far as all UTC+8 days that they lie in are closed. */
export function closedLocalDays({ clock, closedDays }: Horizon, { from, to }: Days, offsetSec: number) {
  const closed = new Set(closedDays.map(({ day }) => day))
  const found: LocalDay[] = []
  for (let day = from; day < to; day++) {
    const local = localDay(clock, day, offsetSec)
    if (local?.utc8.every((one) => closed.has(one)) === true) found.push(local)
  }
  return found
}

/**
 * Whether an account has a validator on a part of a day by an offset, at least: on one of the UTC+8 days that it lies in. Where it has it on
 * one alone, nothing tells which of the day's income is its own.
 */
export function hasPartOfLocalDay(
  { intervals }: Pick<SeenValidator, 'intervals'>,
  utc8: readonly DayNumber[],
): boolean {
  return utc8.some((day) => intervals.some((seen) => isIn(seen, day)))
}

/** The horizon with the days that are closed by an offset in the place of those of UTC+8, and those that cannot be, likewise. */
export function horizonBy(horizon: Horizon, offsetSec: number): Horizon {
  const { closedDays, daysWithoutStart } = horizon
  const utc8 = [...daysWithoutStart, ...closedDays.map(({ day }) => day)]
  const [first, last] = [utc8[0], utc8.at(-1)]
  if (offsetSec === DAY_OFFSET_SEC || first === undefined || last === undefined) return horizon
  const versions = new Map(closedDays.map(({ day, version }) => [day, version]))
  const local = closedLocalDays(horizon, { from: first - 1, to: last + 2 }, offsetSec)
  return {
    ...horizon,
    daysWithoutStart: localDaysWithoutStart(horizon, offsetSec),
    closedDays: local.map(({ day, lastEpoch, utc8 }) => ({
      ...{ day, lastEpoch },
      version: utc8.map((one) => versions.get(one)).join(' '),
    })),
  }
}

/** Days that lie partly in one of UTC+8 that is not closed for want of what the chain began with, and in none that is open for another reason. */
function localDaysWithoutStart(
  { clock, closedDays, daysWithoutStart }: Horizon,
  offsetSec: number,
): readonly DayNumber[] {
  const known = new Set([...daysWithoutStart, ...closedDays.map(({ day }) => day)])
  return daysWithoutStart.flatMap((utc8) =>
    [utc8 - 1, utc8, utc8 + 1].filter((day) => {
      const lies = localDay(clock, day, offsetSec)?.utc8
      return lies?.includes(utc8) === true && lies.every((one) => known.has(one))
    }),
  )
}

const OF_INDICES = (index: string): string => `has({indices:Array(UInt32)}, ${index})`
const SUMS = `
  SELECT
    toString(day) AS day, validator_index, toString(source) AS source_gwei, toString(target) AS target_gwei, toString(head) AS head_gwei,
    toString(inactivity) AS inactivity_gwei, toString(sync) AS sync_gwei, toString(proposer) AS proposer_gwei,
    toString(slashing_penalty) AS slashing_penalty_gwei, toString(cl_reward) AS cl_reward_gwei, toString(revenue) AS el_reward_wei, blocks, blocks_unexplained,
    toString(deposits) AS deposits_gwei, toString(withdrawals) AS withdrawals_gwei, toString(returned) AS returned_from_queue_gwei,
    toString(moved) AS moved_to_queue_gwei, toString(consolidated_in) AS consolidations_in_gwei,
    toString(consolidated_out) AS consolidations_out_gwei, toString(flows) AS flows_gwei, active_epochs,
    toString(effective_balance_epochs) AS effective_balance_epochs_gwei
  FROM (${validatorDaysSql(OF_INDICES, undefined, LOCAL_DAYS)})
  ORDER BY day, validator_index`

const OF_CUT_EPOCHS =
  'chain = {chain:String} AND epoch IN {epochs:Array(UInt32)} AND has({indices:Array(UInt32)}, validator_index)'
const EPOCH_ENDS = `SELECT epoch, validator_index, balance_gwei FROM validator_epochs FINAL WHERE ${OF_CUT_EPOCHS}`
const EFFECTS = `
  SELECT slot, validator_index, toString(amount_gwei) AS amount_gwei FROM ledger_entries FINAL
  WHERE ${OF_CUT_EPOCHS} AND slot BETWEEN {first_slot:UInt64} AND {last_slot:UInt64}
    AND version IN (${newestToldSql('epoch IN {epochs:Array(UInt32)}')})`

type SumRow = Omit<ValidatorDayRow, 'balance_start_gwei' | 'balance_end_gwei' | 'residual_gwei' | 'level'> & {
  readonly flows_gwei: string
}

/** Days by an offset. */
export interface LocalWindow {
  readonly days: Days
  readonly offsetSec: number
}

export interface LocalDaysQuestion extends LocalWindow {
  readonly indices: ReadonlySet<number>
}

type LocalDaysScope = AccountScope & { readonly warehouse: WarehouseReader }

/** Whether each epoch of a UTC+8 day was computed from states that the chain names. */
function isAnchored(level: DayLevel | undefined): boolean {
  return level === 'anchored' || level === 'agreed'
}

/** Days by an offset of several of the account's validators, those of each by date, as `validatorDays` gives those of UTC+8. */
export function localDays(
  scope: LocalDaysScope,
  horizon: Horizon,
  question: LocalDaysQuestion,
): Promise<readonly ValidatorDayRow[]> {
  return askInParts([...question.indices], NUMBERS_PER_STATEMENT, (some) =>
    localDaysOf(scope, horizon, { ...question, indices: new Set(some) }),
  )
}

async function localDaysOf(
  scope: LocalDaysScope,
  horizon: Horizon,
  { indices, days, offsetSec }: LocalDaysQuestion,
): Promise<readonly ValidatorDayRow[]> {
  const closed = closedLocalDays(horizon, days, offsetSec)
  const [first, last] = [closed[0], closed.at(-1)]
  if (first === undefined || last === undefined) return []
  const utc8 = { from: first.utc8[0] as DayNumber, to: (last.utc8.at(-1) as DayNumber) + 1 }
  const stored = await validatorDays(scope, horizon, { indices, days: utc8 })
  if (offsetSec === DAY_OFFSET_SEC) return stored.filter(({ level }) => isAnchored(level))
  const levels = new Map<string, DayLevel>()
  for (const { day, validator_index, level } of stored) levels.set(`${validator_index} ${parseDay(day)}`, level)
  /** Before a day that it joined on there is none of it. */
  const levelOf = (index: number, { utc8: whole }: LocalDay, hasJoined: boolean) => {
    const told = whole.map((day) => levels.get(`${index} ${day}`))
    const own = hasJoined ? told.slice(told.findIndex((level) => level !== undefined)) : told
    if (!own.every(isAnchored)) return undefined
    return own.includes('anchored') ? 'anchored' : 'agreed'
  }
  const { warehouse } = scope
  const params = paramsOf(horizon, { indices, offsetSec, closed, utc8 })
  const [sums, balances] = await Promise.all([
    warehouse.query<SumRow>(SUMS, params),
    balancesAtCuts(warehouse, horizon, { indices, closed }),
  ])
  const byDay = new Map(closed.map((local) => [formatDay(local.day), local]))
  return sums.flatMap(({ flows_gwei, ...sum }): readonly ValidatorDayRow[] => {
    const local = byDay.get(sum.day)
    if (local === undefined) return []
    // Who joins within the day begins it with nothing; where a balance is only lacking, something is left unexplained.
    const known = balances(sum.validator_index, startSlotOf(local))
    const level = levelOf(sum.validator_index, local, known === undefined)
    const end = balances(sum.validator_index, local.lastSlot)
    if (level === undefined || end === undefined) return []
    const start = known ?? 0n
    const residual = end - start - BigInt(sum.cl_reward_gwei) - BigInt(flows_gwei)
    if (residual !== 0n) return []
    const amounts = { balance_start_gwei: String(start), balance_end_gwei: String(end), residual_gwei: '0' }
    return [{ ...sum, ...amounts, level }]
  })
}

function paramsOf(
  { chain, clock }: Horizon,
  parts: Omit<LocalDaysQuestion, 'days'> & { readonly closed: readonly LocalDay[]; readonly utc8: Days },
) {
  const { indices, offsetSec, closed, utc8 } = parts
  const [first, last] = [closed[0] as LocalDay, closed.at(-1) as LocalDay]
  const dates = ({ from, to }: Days) => Array.from({ length: to - from }, (_, nth) => formatDay(from + nth))
  return {
    ...{ chain, indices: [...indices], days: closed.map(({ day }) => formatDay(day)), utc8_days: dates(utc8) },
    ...{ genesis: clock.genesisTimeSec, slot_sec: clock.secondsPerSlot, epoch_slots: clock.slotsPerEpoch },
    ...{ offset_sec: offsetSec, first_slot: first.firstSlot, last_slot: last.lastSlot },
    first_epoch: epochOf(clock, first.firstSlot),
    first_transition: epochOf(clock, first.firstSlot),
    last_transition: last.lastEpoch,
  }
}

/** The slot whose state a day begins with. That of slot 0 is the genesis state: nothing is proposed in it. */
function startSlotOf({ firstSlot }: LocalDay): number {
  return Math.max(0, firstSlot - 1)
}

/**
 * Balances after slots within epochs: that at the epoch's end without what changed it later. What a transition changes is of the epoch's first
 * slot, so none of it is later.
 */
async function balancesAtCuts(
  warehouse: WarehouseReader,
  { chain, clock }: Horizon,
  { indices, closed }: { readonly indices: ReadonlySet<number>; readonly closed: readonly LocalDay[] },
) {
  const cuts = closed.flatMap((local) => [startSlotOf(local), local.lastSlot])
  const epochs = [...new Set(cuts.map((slot) => epochOf(clock, slot)))]
  const slots = { first_slot: Math.min(...cuts), last_slot: (Math.max(...epochs) + 1) * clock.slotsPerEpoch - 1 }
  const params = { chain, epochs, indices: [...indices], ...slots }
  const [ends, effects] = await Promise.all([
    warehouse.query<{ epoch: number; validator_index: number; balance_gwei: string }>(EPOCH_ENDS, params),
    warehouse.query<{ slot: string; validator_index: number; amount_gwei: string }>(EFFECTS, params),
  ])
  const key = (index: number, epoch: number) => `${index} ${epoch}`
  const balanceOf = new Map(ends.map((row) => [key(row.validator_index, row.epoch), BigInt(row.balance_gwei)]))
  const effectsOf = Map.groupBy(effects, (row) => key(row.validator_index, epochOf(clock, Number(row.slot))))
  return (index: number, slot: number): bigint | undefined => {
    const name = key(index, epochOf(clock, slot))
    const later = (effectsOf.get(name) ?? []).filter((row) => Number(row.slot) > slot)
    const end = balanceOf.get(name)
    return end === undefined ? undefined : later.reduce((balance, row) => balance - BigInt(row.amount_gwei), end)
  }
}
