import { expect, it } from 'vitest'
import { Derivation, wantOpenWork } from '../../processors/derive.ts'
import { measureHealth } from '../../processors/loop/measure-health.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import type { DeriveDayInput, SettleAccountInput } from '../../schemas/jobs.ts'
import { givenChain } from './given-chain.ts'
import { dumpTables, projectEverything, projecting, WantedLater } from './projecting.ts'
import { inTurns, renamed } from './renamed-chain.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 60_000
const given = givenChain()
const both = inTurns(given.events, renamed(given.events, 'hoodi'))
const stores = storesOfFile()

it('makes what a queue has lost when a process starts, and asks for no closed day again', {
  timeout: TEST_MS,
}, async () => {
  const { warehouse, openLog, empty } = stores()
  await using eventLog = await openLog(both)
  await projectEverything(await projecting(eventLog, warehouse))
  const whole = await dumpTables(warehouse)
  await empty()

  const lost = { day: async () => {}, account: async () => {} }
  const ports = await projecting(eventLog, warehouse)
  await projectEverything({ ...ports, derive: new Derivation(warehouse, lost).derive })
  expect((await dumpTables(warehouse)).daily_rewards).toEqual([])

  const wanted = new WantedLater(warehouse)
  await wantOpenWork(warehouse, wanted)
  await wanted.make()
  expect(await dumpTables(warehouse)).toEqual(whole)

  const days: DeriveDayInput[] = []
  const accounts: SettleAccountInput[] = []
  await wantOpenWork(warehouse, {
    day: async (input) => void days.push(input),
    account: async (input) => void accounts.push(input),
  })
  const closed = await warehouse.query<{ day: string }>('SELECT DISTINCT day FROM closed_days')
  expect(closed.map(({ day }) => day).toSorted()).toEqual(given.wholeDays)
  // The first and the last day of each chain can never be closed by what the log holds.
  expect(days.map(({ chain }) => chain).toSorted()).toEqual(['hoodi', 'hoodi', 'mainnet', 'mainnet'])
  expect(accounts).toHaveLength(1)
})

it('says where each chain stands, by its own clock', { timeout: TEST_MS }, async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(given.events)
  const measure = (nowSec: number) =>
    measureHealth(
      { eventLog, warehouse, projectors: PROJECTORS },
      [
        { name: 'mainnet', hasBeacon: true },
        { name: 'hoodi', hasBeacon: true },
        { name: 'scroll_mainnet', hasBeacon: false },
      ],
      nowSec,
    )
  const nothing = { has_data: false, follows_head: false, follows_finality: false }
  const before = await measure(0)
  expect(before.chains).toMatchObject({ mainnet: { headSlot: undefined, checks: nothing }, hoodi: { checks: nothing } })
  expect(before.lag.finalized).toBeGreaterThan(0)

  await projectEverything(await projecting(eventLog, warehouse))
  const [clock] = await warehouse.query<{ genesis: string; seconds: number; per_epoch: number }>(
    'SELECT genesis_time_sec AS genesis, seconds_per_slot AS seconds, slots_per_epoch AS per_epoch FROM chains FINAL',
  )
  const { genesis, seconds, per_epoch } = clock ?? { genesis: '0', seconds: 0, per_epoch: 0 }
  const timeOf = (slot: number) => Number(genesis) + slot * seconds
  const { mainnet } = (await measure(0)).chains
  if (mainnet?.kind !== 'beacon') throw new Error('mainnet has a beacon chain')
  const { headSlot = -1, lastFinalizedEpoch = -1 } = mainnet
  expect(lastFinalizedEpoch).toBe(given.epochs - 1)
  const checksAt = async (slot: number) => (await measure(timeOf(slot))).chains.mainnet?.checks
  expect(await checksAt(headSlot + 10)).toMatchObject({ has_data: true, follows_head: true })
  expect(await checksAt(headSlot + 11)).toMatchObject({ has_data: true, follows_head: false })
  const endOf = (epoch: number) => (epoch + 1) * per_epoch - 1
  expect(await checksAt(endOf(lastFinalizedEpoch + 5))).toMatchObject({ follows_finality: true })
  expect(await checksAt(endOf(lastFinalizedEpoch + 5) + 1)).toMatchObject({ follows_finality: false })
  expect((await measure(timeOf(headSlot))).chains).toMatchObject({ hoodi: { checks: nothing } })
})

it('says where a chain without a beacon chain stands', { timeout: TEST_MS }, async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(given.events)
  await projectEverything(await projecting(eventLog, warehouse))
  const [newest] = await warehouse.query<{ number: string; sec: number }>(
    'SELECT max(block_number) AS number, toUnixTimestamp(max(time)) AS sec FROM execution_blocks',
  )
  const { number, sec } = newest ?? { number: '', sec: 0 }
  const measure = async (nowSec: number) => {
    const chains = [{ name: 'mainnet', hasBeacon: false }]
    return (await measureHealth({ eventLog, warehouse, projectors: [] }, chains, nowSec)).chains.mainnet
  }
  expect(await measure(sec + 120)).toEqual({
    kind: 'execution',
    headBlock: Number(number),
    finalizedBlock: undefined,
    checks: { has_data: true, follows_head: true, follows_finality: false },
  })
  expect((await measure(sec + 121))?.checks).toMatchObject({ follows_head: false })
  await warehouse.insert('execution_finality', {
    chain: ['mainnet'],
    block_number: BigUint64Array.of(BigInt(number) - 1n),
    block_hash: [`0x${'0e'.repeat(32)}`],
    version: BigUint64Array.of(1n),
  })
  expect(await measure(sec)).toMatchObject({ finalizedBlock: Number(number) - 1, checks: { follows_finality: true } })
})
