import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import type { SlotRecord } from '../../infra/devnet/consensus/history.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import { backfill } from '../../ingest/backfill/backfill.ts'
import type { DailyRewardRow } from '../../schemas/tables/rewards.ts'
import { appendAccount } from '../faults/account.ts'
import { LAST_SLOT, openHistory } from '../faults/history.ts'
import { rebuildFrom } from '../unit/projecting.ts'
import { silentLog } from '../unit/silent-log.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

// A UTC+8 day of a devnet from states to rows, cut within epochs and where no block is: slot 44 before it and its last one are empty.

const CHAIN = 'mainnet'
const EMPTY = [44, 140]
const HOUR_SEC = 3_600
const never = new AbortController().signal

const stores = storesOfFile()
let devnet: Devnet
let rows: readonly DailyRewardRow[]

beforeAll(async () => {
  devnet = await openHistory({ missed: EMPTY })
  await devnet.advanceTo(LAST_SLOT)
  await using eventLog = await stores().openLog()
  await appendAccount(eventLog, [CHAIN])
  await using beacon = await openBeaconSource({ urls: [devnet.beaconUrl], log: silentLog })
  await using execution = await openExecutionSource({
    ...{ urls: [devnet.executionUrl], log: silentLog, binding: 'ethereum' },
  })
  const ingester = { chain: CHAIN, writer: eventLog, eventLog, unnamedChain: CHAIN, log: silentLog, beacon, execution }
  const toEpoch = devnet.history.head.finality.finalized.epoch - 1
  await backfill(ingester, { fromEpoch: 0, toEpoch }, never)
  await rebuildFrom(eventLog, stores().warehouse)
  rows = await stores().warehouse.query('SELECT * FROM daily_rewards FINAL ORDER BY day, validator_index')
})
afterAll(() => devnet?.[Symbol.asyncDispose]())

const record = (slot: number) => devnet.history.slot(slot) as SlotRecord

/** Slots that begin on a date of UTC+8, by the calendar. */
function slotsOn(date: string): readonly number[] {
  const { genesisTimeSec, secondsPerSlot } = devnet.clock
  return Array.from({ length: LAST_SLOT + 1 }, (_, slot) => slot).filter((slot) => {
    const seconds = genesisTimeSec + slot * secondsPerSlot + 8 * HOUR_SEC
    return new Date(seconds * 1_000).toISOString().startsWith(date)
  })
}

/** The balances that the rows of a day have, and those of the states that it lies between. */
function balancesOn(date: string, { before, last }: { readonly before: number; readonly last: number }) {
  const own = rows.filter(({ day }) => day === date)
  // Who joins on the day begins with nothing.
  const balance = (slot: number, index: number) => String(record(slot).balances[index] ?? 0)
  return {
    stored: own.map((row) => [row.validator_index, row.balance_start_gwei, row.balance_end_gwei]),
    true: own.map(({ validator_index: i }) => [i, balance(before, i), balance(last, i)]),
  }
}

test('the day in which the chain began is cut at the genesis state', () => {
  const [date = '', next] = new Set(rows.map(({ day }) => day))
  expect(next).toBeDefined()
  const slots = slotsOn(date)
  expect(slots[0]).toBe(0)
  const balances = balancesOn(date, { before: 0, last: slots.at(-1) ?? 0 })
  expect(balances.stored).toEqual(balances.true)
  expect(balances.stored.length).toBeGreaterThanOrEqual(40)
  expect(record(1).balances).not.toEqual(record(0).balances)
})

test('a day is cut where the states of its slots say, not at an epoch, and not at a block', () => {
  const [, date = ''] = new Set(rows.map(({ day }) => day))
  const slots = slotsOn(date)
  const [before, last] = [(slots[0] ?? 0) - 1, slots.at(-1) ?? 0]
  expect(slots).toHaveLength(96)
  for (const slot of EMPTY) expect(record(slot).block, `slot ${slot}`).toBeUndefined()
  expect([before, last]).toEqual(EMPTY)
  const balances = balancesOn(date, { before, last })
  expect(balances.stored).toEqual(balances.true)
  expect(balances.stored.length).toBeGreaterThan(40)
  // A cut one slot later, or where an epoch ends, would be another.
  for (const slot of [before + 1, 31, 63]) expect(record(slot).balances).not.toEqual(record(before).balances)
  for (const slot of [last + 1, 127, 159]) expect(record(slot).balances).not.toEqual(record(last).balances)
})

test('what it pays is what these states have more, less what flowed', () => {
  for (const row of rows) {
    const gwei = (name: keyof DailyRewardRow) => BigInt(row[name] as string)
    const flows =
      gwei('deposits_gwei') +
      gwei('withdrawals_gwei') +
      gwei('returned_from_queue_gwei') +
      gwei('moved_to_queue_gwei') +
      gwei('consolidations_in_gwei') +
      gwei('consolidations_out_gwei')
    const change = gwei('balance_end_gwei') - gwei('balance_start_gwei')
    expect({ index: row.validator_index, level: row.level, gwei: gwei('cl_reward_gwei') }).toEqual({
      ...{ index: row.validator_index, level: 'anchored', gwei: change - flows },
    })
  }
})
