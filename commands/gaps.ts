import { selectChain } from '../infra/config/select-chain.ts'
import { type EpochRange, parseBackfillRange, refuseEndBeforeStart } from '../ingest/backfill/epoch-range.ts'
import { countByReason, fillGaps, type RefusalReason } from '../ingest/backfill/fill-gaps.ts'
import { type EpochGap, findGaps } from '../ingest/backfill/gaps.ts'
import { AppError } from '../schemas/errors.ts'
import { type ChainClock, dayOfSlot, firstSlotOfEpoch, formatDay } from '../schemas/eth/time.ts'
import { fillRange, openFilling, tellingToRunAgain } from './backfill.ts'
import type { Setting } from './setting.ts'

export interface GapsOptions {
  readonly from?: string
  readonly to?: string
  readonly chain?: string
  /** Reads what is lacking. */
  readonly repair: boolean
}

/**
 * Prints the epochs of which the log lacks something, and reads them where it is to be repaired: all that are not refused. Throws AppError
 * `event_log` when any are left. The program may run meanwhile.
 */
export async function runGaps(setting: Setting, options: GapsOptions, goneAfterMs?: number): Promise<void> {
  await tellingToRunAgain(() => findAndFill(setting, options, goneAfterMs), setting.signal)
}

async function findAndFill(setting: Setting, options: GapsOptions, goneAfterMs?: number): Promise<void> {
  const { config, screen, signal } = setting
  const wanted = bothOf(options)
  if (wanted !== undefined) refuseEndBeforeStart(wanted)
  const chain = selectChain(config, options.chain, 'beacon')
  const { name } = chain.names
  await using open = new AsyncDisposableStack()
  const { lease, ...opened } = await openFilling(setting, chain, open)
  const { clock } = await opened.beacon.chain()
  const range = wanted && parseBackfillRange(wanted, clock)
  // Who was found in the registry is told, and a backfill that is running may be filling what would be called a gap.
  const filling = { ...opened, writer: await lease() }
  const find = async () => {
    const found = await findGaps(filling, range, signal)
    for (const line of linesOf(name, clock, found)) screen.print(`${line}\n`)
    return found.gaps
  }
  const gaps = await find()
  if (gaps.length === 0) return
  if (!options.repair)
    throw new AppError('event_log', 'Not every epoch is in the log: gaps --repair reads what is lacking.')
  const refused = await fillGaps({
    gaps,
    fill: (gap, planGoneAfterMs) => fillRange(setting, { ...filling, planGoneAfterMs }, gap),
    onRefused: ({ fromEpoch, toEpoch, message }) =>
      screen.print(`${name}, epochs ${fromEpoch} to ${toEpoch} are refused: ${message}\n`),
    goneAfterMs,
    signal,
  })
  const left = countByReason(await find(), refused)
  if (left.size > 0) throw new AppError('event_log', formatLeft(left))
}

const WHY: Readonly<Record<RefusalReason | 'unrefused', string>> = {
  gone: 'that no node can tell any more',
  computed: 'that were computed of states, which no node gives',
  unsupported: 'that are not final, or follow rules that are not supported',
  unrefused: 'that nothing has refused, see above',
}

function formatLeft(left: ReadonlyMap<RefusalReason | 'unrefused', number>): string {
  const total = [...left.values()].reduce((sum, epochs) => sum + epochs, 0)
  const parts = [...left].map(([reason, epochs]) => `${epochs} ${WHY[reason]}`)
  return `${total === 1 ? '1 epoch is' : `${total} epochs are`} lacking still: ${parts.join(', ')}.`
}

/** Both ends of a range, or neither. Throws AppError `usage`. */
function bothOf({ from, to }: GapsOptions): { readonly from: string; readonly to: string } | undefined {
  if (from !== undefined && to !== undefined) return { from, to }
  if (from === undefined && to === undefined) return undefined
  throw new AppError(
    'usage',
    '--from and --to come together; without them all is looked at that the log begins and ends with.',
  )
}

function linesOf(
  name: string,
  clock: ChainClock,
  { searched, gaps }: { readonly searched: EpochRange; readonly gaps: readonly EpochGap[] },
): readonly string[] {
  const day = (epoch: number) => formatDay(dayOfSlot(clock, firstSlotOfEpoch(clock, epoch)))
  const where = `${name}, epochs ${searched.fromEpoch} to ${searched.toEpoch}`
  if (gaps.length === 0) return [`${where}: the log has all of them for every tracked validator.`]
  return [
    `${where}, ${gaps.length === 1 ? 'one gap' : `${gaps.length} gaps`}:`,
    ...gaps.map(({ fromEpoch, toEpoch, ...what }) => {
      const epochs = fromEpoch === toEpoch ? `epoch ${fromEpoch}` : `epochs ${fromEpoch} to ${toEpoch}`
      const days = day(fromEpoch) === day(toEpoch) ? day(fromEpoch) : `${day(fromEpoch)} to ${day(toEpoch)}`
      return `  ${epochs} (${days}): ${formatLacking(what)}`
    }),
  ]
}

function formatLacking({ lacking, isComputed }: Pick<EpochGap, 'lacking' | 'isComputed'>): string {
  if (lacking !== undefined) return `without ${lacking} tracked validators${isComputed ? ', computed of states' : ''}`
  return isComputed
    ? 'computed by earlier formulas, or of a state that no block names, or not readable'
    : 'not in the log, told by release 0.1, or not readable'
}
