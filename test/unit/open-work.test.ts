import { expect, it } from 'vitest'
import { Derivation, wantOpenWork } from '../../processors/derive.ts'
import type { DeriveDayInput } from '../../schemas/jobs/derive-day.ts'
import type { SettleAccountInput } from '../../schemas/jobs/settle-account.ts'
import { givenChain } from './given-chain.ts'
import { dumpTables, projectEverything, projecting, WantedLater } from './projecting.ts'
import { inTurns, renamed } from './renamed-chain.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 120_000
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

  const lost = { fold: async () => {}, day: async () => {}, account: async () => {} }
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
    fold: async () => {},
    day: async (input) => void days.push(input),
    account: async (input) => void accounts.push(input),
  })
  const closed = await warehouse.query<{ day: string }>('SELECT DISTINCT day FROM closed_days')
  expect(closed.map(({ day }) => day).toSorted()).toEqual(given.wholeDays)
  // The first and the last day of each chain can never be closed by what the log holds.
  expect(days.map(({ chain }) => chain).toSorted()).toEqual(['hoodi', 'hoodi', 'mainnet', 'mainnet'])
  expect(accounts).toHaveLength(1)
})

it('sums the months again that a migration has emptied, by a day of each', { timeout: TEST_MS }, async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(both)
  await projectEverything(await projecting(eventLog, warehouse))
  const whole = await dumpTables(warehouse)
  expect(whole.monthly_rewards).not.toEqual([])
  for (const table of ['monthly_rewards', 'closed_months']) await warehouse.command(`TRUNCATE TABLE ${table}`)
  const wanted = new WantedLater(warehouse)
  await wantOpenWork(warehouse, wanted)
  await wanted.make()
  expect(await dumpTables(warehouse)).toEqual(whole)
})
