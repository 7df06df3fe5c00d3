/** Chain parameters that turn slots into instants. They come from the node, never from constants. */
export interface ChainClock {
  /** Unix seconds of slot 0. */
  readonly genesisTimeSec: number
  readonly secondsPerSlot: number
  readonly slotsPerEpoch: number
}

/** Hours that the reporting day is ahead of UTC (spec 2.5: dates are UTC+8). */
export const DAY_OFFSET_SEC = 8 * 3600
export const DAY_SEC = 86_400

/** An attestation of epoch N is rewarded in the transition to epoch N + 2 (consensus-specs, process_rewards_and_penalties). */
export const ATTESTATION_CREDIT_DELAY_EPOCHS = 2

/** Number of a UTC+8 day: days since 1970-01-01 in UTC+8. */
export type DayNumber = number

export function slotTimeSec(clock: ChainClock, slot: number): number {
  return clock.genesisTimeSec + slot * clock.secondsPerSlot
}

/** The slot that is current at an instant; negative before genesis. */
export function slotAt(clock: ChainClock, unixSec: number): number {
  return Math.floor((unixSec - clock.genesisTimeSec) / clock.secondsPerSlot)
}

export function epochOf(clock: Pick<ChainClock, 'slotsPerEpoch'>, slot: number): number {
  return Math.floor(slot / clock.slotsPerEpoch)
}

export function firstSlotOfEpoch(clock: Pick<ChainClock, 'slotsPerEpoch'>, epoch: number): number {
  return epoch * clock.slotsPerEpoch
}

export function lastSlotOfEpoch(clock: Pick<ChainClock, 'slotsPerEpoch'>, epoch: number): number {
  return (epoch + 1) * clock.slotsPerEpoch - 1
}

/** The day that an instant lies in, by default of UTC+8. */
export function dayOfInstant(unixSec: number, offsetSec = DAY_OFFSET_SEC): DayNumber {
  return Math.floor((unixSec + offsetSec) / DAY_SEC)
}

/** First instant of a day in Unix seconds: of a UTC+8 day eight hours before the UTC day of the same date begins. */
export function dayStartSec(day: DayNumber, offsetSec = DAY_OFFSET_SEC): number {
  return day * DAY_SEC - offsetSec
}

/** The UTC+8 day of a slot: the day of its start. */
export function dayOfSlot(clock: ChainClock, slot: number): DayNumber {
  return dayOfInstant(slotTimeSec(clock, slot))
}

/** First slot whose start lies in the day, by default of UTC+8, or 0 when the chain began during it. */
export function firstSlotOfDay(clock: ChainClock, day: DayNumber, offsetSec = DAY_OFFSET_SEC): number {
  return Math.max(0, Math.ceil((dayStartSec(day, offsetSec) - clock.genesisTimeSec) / clock.secondsPerSlot))
}

/** "2026-11-20" for a day number. */
export function formatDay(day: DayNumber): string {
  return new Date(day * DAY_SEC * 1000).toISOString().slice(0, 10)
}

/** Day number of `YYYY-MM-DD`, or undefined when it is not a calendar date in that form. */
export function parseDay(text: string): DayNumber | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const ms = Date.parse(`${text}T00:00:00Z`)
  if (Number.isNaN(ms)) return undefined
  const day = ms / (DAY_SEC * 1000)
  return formatDay(day) === text ? day : undefined
}

/** The first day of the month that a day lies in. */
export function firstOfMonth(day: DayNumber): DayNumber {
  const date = new Date(day * DAY_SEC * 1000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / (DAY_SEC * 1000)
}

/** ISO 8601 UTC with milliseconds. */
export function formatInstant(unixSec: number): string {
  return new Date(unixSec * 1000).toISOString()
}

/** "YYYY-MM-DD HH:MM:SS" in UTC+8, the form of `reward_time`. */
export function formatLocalTime(unixSec: number): string {
  return new Date((unixSec + DAY_OFFSET_SEC) * 1000).toISOString().slice(0, 19).replace('T', ' ')
}
