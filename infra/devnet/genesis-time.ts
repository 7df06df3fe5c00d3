import { DAY_OFFSET_SEC, DAY_SEC, dayOfInstant } from '../../schemas/eth/time.ts'

/** Complete UTC+8 days before today. */
const COMPLETE_DAYS = 2

/** Slot that the first complete day begins with: the 16th of its epoch, as on mainnet (slot 1199 is the first of 2020-12-02). */
const FIRST_SLOT_OF_FIRST_DAY = 303

/** Mainnet's slots start 11 s after a multiple of 12 s: no slot begins exactly with the day. */
const SLOT_START_SEC = 11

/**
 * Unix seconds of slot 0 of a devnet that is started now: 303 slots of history, then exactly two complete UTC+8 days, then today.
 * It depends on today's date and the slots' length only.
 */
export function devnetGenesisTime(nowSec: number, secondsPerSlot: number): number {
  const firstDay = dayOfInstant(nowSec) - COMPLETE_DAYS
  const firstDayStartSec = firstDay * DAY_SEC - DAY_OFFSET_SEC
  return firstDayStartSec + Math.min(SLOT_START_SEC, secondsPerSlot - 1) - FIRST_SLOT_OF_FIRST_DAY * secondsPerSlot
}
