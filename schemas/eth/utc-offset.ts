import { type ChainClock, DAY_OFFSET_SEC, type DayNumber, dayOfSlot, epochOf, firstSlotOfDay } from './time.ts'

/** The offsets from UTC that are in use, seconds: of Baker Island and of Kiribati. */
const OFFSET_SEC_MIN = -12 * 3600
const OFFSET_SEC_MAX = 14 * 3600
const QUARTER_SEC = 900

/** Seconds of `+HH:MM` or `-HH:MM` at a quarter of an hour; undefined for other texts, and beyond the offsets in use. */
export function parseUtcOffset(text: string): number | undefined {
  const [, sign, hours, minutes] = /^([+-])(\d\d):([0-5]\d)$/.exec(text) ?? []
  if (sign === undefined) return undefined
  const size = Number(hours) * 3600 + Number(minutes) * 60
  const seconds = sign === '-' ? 0 - size : size
  return OFFSET_SEC_MIN <= seconds && seconds <= OFFSET_SEC_MAX && seconds % QUARTER_SEC === 0 ? seconds : undefined
}

/** Within one quarter of an hour no day of any offset begins. */
export function quarterHourOf(unixSec: number): number {
  return Math.floor(unixSec / QUARTER_SEC)
}

/** What a time zone of this offset is called: `UTC+8`, `UTC-3:30`, `UTC`. */
export function utcOffsetName(offsetSec: number): string {
  const quarters = Math.abs(offsetSec) / QUARTER_SEC
  const minutes = (quarters % 4) * 15
  const sign = offsetSec < 0 ? '-' : '+'
  return quarters === 0 ? 'UTC' : `UTC${sign}${Math.floor(quarters / 4)}${minutes === 0 ? '' : `:${minutes}`}`
}

/** A day by some offset from UTC, and what of UTC+8 it lies in. */
export interface LocalDay {
  readonly day: DayNumber
  readonly firstSlot: number
  readonly lastSlot: number
  readonly lastEpoch: number
  /**
   * UTC+8 days of its slots, and of the one before, whose balance it begins with (none where the chain began in it); a UTC+8 day, which knows
   * that itself, lies in itself alone.
   */
  readonly utc8: readonly DayNumber[]
}

/** Undefined for days before the chain began. */
export function localDay(clock: ChainClock, day: DayNumber, offsetSec: number): LocalDay | undefined {
  const firstSlot = firstSlotOfDay(clock, day, offsetSec)
  const lastSlot = firstSlotOfDay(clock, day + 1, offsetSec) - 1
  if (lastSlot < 0) return undefined
  const from = offsetSec === DAY_OFFSET_SEC ? day : dayOfSlot(clock, Math.max(0, firstSlot - 1))
  const to = dayOfSlot(clock, lastSlot)
  const utc8 = Array.from({ length: to - from + 1 }, (_, nth) => from + nth)
  return { day, firstSlot, lastSlot, lastEpoch: epochOf(clock, lastSlot), utc8 }
}
