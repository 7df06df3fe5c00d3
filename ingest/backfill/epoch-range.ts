import { AppError } from '../../schemas/errors.ts'
import { type ChainClock, epochOf, firstSlotOfDay, parseDay } from '../../schemas/eth/time.ts'
import { saysUnknown, type UnknownFork } from '../../schemas/eth/unknown-fork.ts'

/** Finalized epochs, both inclusive. */
export interface EpochRange {
  readonly fromEpoch: number
  readonly toEpoch: number
}

/**
 * The epochs of a range given as `slot:N`, `epoch:N` or `YYYY-MM-DD` (UTC+8), both ends inclusive. An epoch that the range
 * only touches belongs to it. A day ends with the epoch of the next day's first slot: that one brings its closing balances.
 * Throws AppError `usage`.
 */
export function parseBackfillRange(
  range: { readonly from: string; readonly to: string },
  clock: ChainClock,
): EpochRange {
  refuseEndBeforeStart(range)
  const fromEpoch = parseEnd('--from', range.from, clock).first
  const toEpoch = parseEnd('--to', range.to, clock).last
  if (fromEpoch <= toEpoch) return { fromEpoch, toEpoch }
  throw new AppError(
    'usage',
    `--from ${range.from} (epoch ${fromEpoch}) lies after --to ${range.to} (epoch ${toEpoch}): exchange them.`,
  )
}

/** As far as it can be told without a clock: of two dates, two epochs or two slots. Throws AppError `usage`. */
export function refuseEndBeforeStart(range: { readonly from: string; readonly to: string }): void {
  const [from, to] = [placeOf('--from', range.from), placeOf('--to', range.to)]
  if (from.unit !== to.unit || from.number <= to.number) return
  throw new AppError('usage', `--from ${range.from} lies after --to ${range.to}: exchange them.`)
}

type Place = { readonly unit: 'slot' | 'epoch' | 'day'; readonly number: number }

function placeOf(option: string, text: string): Place {
  const [, unit, digits] = /^(slot|epoch):(\d{1,15})$/.exec(text) ?? []
  if (unit === 'slot' || unit === 'epoch') return { unit, number: Number(digits) }
  const day = parseDay(text)
  if (day !== undefined) return { unit: 'day', number: day }
  throw new AppError(
    'usage',
    `${option} is not a slot, an epoch or a date: ${JSON.stringify(text)}; e.g. ${option} epoch:1000, ${option} slot:32000, ${option} 2026-01-31, or for blocks alone ${option} block:1000.`,
  )
}

function parseEnd(option: string, text: string, clock: ChainClock): { readonly first: number; readonly last: number } {
  const { unit, number } = placeOf(option, text)
  if (unit !== 'day') {
    const epoch = unit === 'slot' ? epochOf(clock, number) : number
    return { first: epoch, last: epoch }
  }
  const nextDaySlot = firstSlotOfDay(clock, number + 1)
  if (nextDaySlot === 0) throw new AppError('usage', `${option} ${text} lies before the chain's first day.`)
  return { first: epochOf(clock, firstSlotOfDay(clock, number)), last: epochOf(clock, nextDaySlot) }
}

/** Throws AppError `usage` for a range that ends in a fork that is not known here. */
export function refuseUnknownFork(toEpoch: number, fork: UnknownFork | undefined): void {
  if (fork === undefined || toEpoch < fork.epoch) return
  throw new AppError(
    'usage',
    `The range ends with epoch ${toEpoch}, but ${saysUnknown(fork)}: end with --to epoch:${fork.epoch - 1}.`,
  )
}

/** All epochs of a range, ascending. */
export function epochsOf({ fromEpoch, toEpoch }: EpochRange): readonly number[] {
  return Array.from({ length: toEpoch - fromEpoch + 1 }, (_, i) => fromEpoch + i)
}

/** Ascending numbers as ranges without gaps. */
export function stretchesOf(numbers: readonly number[]): readonly { readonly from: number; readonly to: number }[] {
  const stretches: { readonly from: number; to: number }[] = []
  for (const number of numbers) {
    const last = stretches.at(-1)
    if (last?.to === number - 1) last.to = number
    else stretches.push({ from: number, to: number })
  }
  return stretches
}

/** Throws AppError `usage` where the range is not final. */
export function refuseUnfinal(toEpoch: number, finalizedEpoch: number): void {
  if (toEpoch < finalizedEpoch) return
  const last = finalizedEpoch - 1
  throw new AppError(
    'usage',
    `epoch ${toEpoch} is not final yet: ${last < 0 ? 'no epoch is' : `the last final one is ${last} (--to epoch:${last})`}.`,
  )
}
