import { selectChain } from '../infra/config/select-chain.ts'
import { type EpochRange, parseBackfillRange, refuseEndBeforeStart } from '../ingest/backfill/epoch-range.ts'
import { type EpochGap, findGaps } from '../ingest/backfill/gaps.ts'
import { AppError } from '../schemas/errors.ts'
import { type ChainClock, dayOfSlot, firstSlotOfEpoch, formatDay } from '../schemas/eth/time.ts'
import { fillRange, openFilling } from './backfill.ts'
import type { Setting } from './setting.ts'

export interface GapsOptions {
  readonly from?: string
  readonly to?: string
  readonly chain?: string
  /** Reads what is lacking. */
  readonly repair: boolean
}

/**
 * Prints the epochs of which the log lacks something, and reads them where it is to be repaired. Throws AppError `event_log` when any are left. The
 * program may run meanwhile.
 */
export async function runGaps(setting: Setting, options: GapsOptions): Promise<void> {
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
  for (const gap of gaps) await fillRange(setting, filling, gap)
  if ((await find()).length > 0) throw new AppError('event_log', 'What is lacking still, see above, could not be read.')
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
    ...gaps.map(({ fromEpoch, toEpoch, lacking }) => {
      const epochs = fromEpoch === toEpoch ? `epoch ${fromEpoch}` : `epochs ${fromEpoch} to ${toEpoch}`
      const days = day(fromEpoch) === day(toEpoch) ? day(fromEpoch) : `${day(fromEpoch)} to ${day(toEpoch)}`
      const what =
        lacking === undefined
          ? 'not in the log, not readable, or computed by earlier formulas'
          : `without ${lacking} tracked validators`
      return `  ${epochs} (${days}): ${what}`
    }),
  ]
}
