import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { ChainDays, ClosedThrough } from '../../schemas/closed-through.ts'
import { type DayNumber, dayOfSlot, epochOf, firstSlotOfDay, formatDay } from '../../schemas/eth/time.ts'
import { chainClock, isGenesisTold } from './days.ts'

/**
 * Up to which day the days of each chain are closed, as far as is asked. The first of them is the first day that the tables have from its
 * beginning: where the log begins within a day, or does not tell what the chain began with, that day is never closed, and it and those before
 * it count as closed with the next one.
 */
export async function closedThrough(
  warehouse: Warehouse,
  asked: readonly ChainDays[],
): Promise<readonly ClosedThrough[]> {
  const answers: ClosedThrough[] = []
  for (const days of asked) answers.push({ chain: days.chain, through: await closedOfChain(warehouse, days) })
  return answers
}

async function closedOfChain(warehouse: Warehouse, { chain, fromDay, toDay }: ChainDays): Promise<DayNumber | null> {
  const begun = await firstWholeDay(warehouse, chain)
  if (begun === undefined) return null
  const first = Math.max(fromDay, begun)
  const closed = await warehouse.query<{ number: number }>(
    `SELECT toUInt32(day) AS number FROM closed_days FINAL
     WHERE chain = {chain:String} AND day >= {from:Date} AND day < {to:Date} ORDER BY day`,
    { chain, from: formatDay(first), to: formatDay(Math.max(toDay, first + 1)) },
  )
  const open = closed.findIndex(({ number }, at) => number !== first + at)
  const inARow = open < 0 ? closed.length : open
  return inARow === 0 && first === begun ? null : first + inARow - 1
}

/** The first day whose first slot is in the tables, with the balances before it; undefined before the first epoch. */
async function firstWholeDay(warehouse: Warehouse, chain: string): Promise<DayNumber | undefined> {
  const clock = await chainClock(warehouse, chain)
  const [epochs] = await warehouse.query<{ first: number; count: string }>(
    'SELECT min(epoch) AS first, count() AS count FROM epochs FINAL WHERE chain = {chain:String}',
    { chain },
  )
  if (clock === undefined || epochs === undefined || epochs.count === '0') return undefined
  const day = dayOfSlot(clock, epochs.first * clock.slotsPerEpoch)
  const firstSlot = firstSlotOfDay(clock, day)
  const isWhole = firstSlot > 0 ? epochOf(clock, firstSlot) >= epochs.first : await isGenesisTold(warehouse, chain, day)
  return isWhole ? day : day + 1
}
