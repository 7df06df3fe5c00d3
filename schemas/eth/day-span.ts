import { type ChainClock, type DayNumber, epochOf, firstSlotOfDay } from './time.ts'

/** What a day spans, and the epochs that must be complete before it can be closed. */
export interface DaySpan {
  readonly day: DayNumber
  readonly firstSlot: number
  readonly lastSlot: number
  readonly firstEpoch: number
  /** Epoch of the slot after the day: it brings the balances that the day ends with. */
  readonly closingEpoch: number
  /** First epoch whose transition belongs to the day. */
  readonly firstTransition: number
  readonly lastTransition: number
}

/** The day's slots and epochs, from slot 0 on where the chain began in it; undefined for days before. */
export function daySpan(clock: ChainClock, day: DayNumber): DaySpan | undefined {
  const firstSlot = firstSlotOfDay(clock, day)
  const nextSlot = firstSlotOfDay(clock, day + 1)
  if (nextSlot === 0) return undefined
  return {
    day,
    firstSlot,
    lastSlot: nextSlot - 1,
    firstEpoch: epochOf(clock, firstSlot),
    closingEpoch: epochOf(clock, nextSlot),
    firstTransition: Math.ceil(firstSlot / clock.slotsPerEpoch),
    lastTransition: epochOf(clock, nextSlot - 1),
  }
}
