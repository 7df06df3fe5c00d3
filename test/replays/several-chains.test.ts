import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { deriveEverything } from '../../processors/derive.ts'
import { findDayGaps } from '../../processors/verify/day-gaps.ts'
import { proveDays } from '../../processors/verify/prove-days.ts'
import { proveEpochs } from '../../processors/verify/prove-epochs.ts'
import { proveSettlements } from '../../processors/verify/prove-settlements.ts'
import type { Family } from '../../schemas/tables/projections.ts'
import { givenChain } from '../unit/given-chain.ts'
import { processLog } from '../unit/processing.ts'
import { dumpChain, dumpTables, projectEverything, projecting, rebuildFrom } from '../unit/projecting.ts'
import { inTurns, renamed } from '../unit/renamed-chain.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

type Tables = Record<string, unknown[]>

const TEST_MS = 60_000
const given = givenChain(12)
const both = inTurns(given.events, renamed(given.events, 'hoodi'))
const stores = storesOfFile()

/** What the family's own rebuild has to mend; what is derived from it follows. */
const WRONG: Readonly<Partial<Record<Family, string>>> = {
  rewards: `INSERT INTO validator_epochs SELECT * REPLACE (source_gwei + 1 AS source_gwei, version + 1 AS version) FROM validator_epochs FINAL WHERE chain = 'hoodi'`,
  execution: `INSERT INTO execution_blocks SELECT * REPLACE (priority_fees_wei + 1 AS priority_fees_wei) FROM execution_blocks FINAL WHERE chain = 'hoodi'`,
  settlements: `INSERT INTO settlements SELECT * REPLACE (service_fee_wei + 1 AS service_fee_wei) FROM settlements FINAL WHERE chain = 'hoodi'`,
  validators: `INSERT INTO validators SELECT * REPLACE (validator_index + 1 AS validator_index) FROM validators FINAL WHERE chain = 'hoodi' AND validator_index = 4`,
  head: `ALTER TABLE beacon_blocks DELETE WHERE chain = 'hoodi' SETTINGS mutations_sync = 1`,
  accounts: `INSERT INTO validator_owners SELECT chain, pubkey, from_day, 'other', version + 1 FROM validator_owners FINAL WHERE chain = 'hoodi'`,
}

/** Families that figures of others are made of: what is wrong with them is wrong there too, once those are made again. */
const FOLLOWED: ReadonlySet<string> = new Set<Family>(['execution', 'validators', 'accounts'])

/** A row of this chain, or of none. */
const isOfMainnet = (row: unknown): boolean => (row as { chain?: string }).chain !== 'hoodi'

describe('two chains in one log', () => {
  let alone: Tables

  beforeAll(async () => {
    const { warehouse, openLog } = stores()
    await using ofOne = await openLog(given.events)
    await projectEverything(await projecting(ofOne, warehouse))
    alone = await dumpChain(warehouse, 'mainnet')
    await using _eventLog = await processed()
  }, TEST_MS)

  it('have the tables that each has alone', async () => {
    const { warehouse } = stores()
    expect(Object.keys(alone)).toEqual(expect.arrayContaining(['daily_rewards', 'settlements', 'beacon_blocks']))
    expect(await dumpChain(warehouse, 'mainnet')).toEqual(alone)
    expect(await dumpChain(warehouse, 'hoodi')).toEqual(alone)
  })

  it('are proven side by side, and what is wrong is told of the chain that it is wrong of', async () => {
    const { warehouse } = stores()
    const proofs = (await Array.fromAsync(proveDays(warehouse))).flat()
    expect(proofs.length).toBe(2 * given.wholeDays.length * given.validators)
    for (const proof of proofs) expect(proof, JSON.stringify(proof)).toMatchObject({ residual: '0', stored_agrees: 1 })
    expect(await proveEpochs(warehouse)).toMatchObject({ unexplained: 0 })
    expect(await proveSettlements(warehouse)).toMatchObject({ checked: 2 * given.settledBlocks, wrong: 0 })
    expect(await findDayGaps(warehouse)).toEqual([])
    for (const table of ['daily_rewards', 'settlements']) {
      const sql = `ALTER TABLE ${table} DELETE WHERE chain = 'hoodi' AND validator_index = 2 SETTINGS mutations_sync = 1`
      await warehouse.command(sql)
    }
    const wrong = (await Array.fromAsync(proveDays(warehouse))).flat().filter((proof) => proof.stored_agrees !== 1)
    expect(new Set(wrong.map(({ chain }) => chain))).toEqual(new Set(['hoodi']))
    const { examples } = await proveSettlements(warehouse)
    expect(new Set(examples.map(({ chain, reason }) => `${chain}: ${reason}`))).toEqual(
      new Set(['hoodi: proven revenue is not settled']),
    )
    expect(new Set((await findDayGaps(warehouse)).map(({ chain }) => chain))).toEqual(new Set(['hoodi']))
  })
})

/** A log of both chains, and their tables. */
function processed(): Promise<EventLog> {
  const { warehouse, openLog, filled } = stores()
  return filled('both', async () => {
    const eventLog = await openLog(both)
    await processLog(eventLog, warehouse)
    return eventLog
  })
}

describe('a rebuild of a part', () => {
  let eventLog: EventLog
  let right: readonly [mainnet: Tables, hoodi: Tables]

  beforeAll(async () => {
    const { warehouse } = stores()
    eventLog = await processed()
    right = [await dumpChain(warehouse, 'mainnet'), await dumpChain(warehouse, 'hoodi')]
    expect(right[0]).toEqual(right[1])
  }, TEST_MS)

  afterAll(() => eventLog[Symbol.asyncDispose]())

  it('of one chain leaves the rows of the other byte for byte, and mends its own', { timeout: TEST_MS }, async () => {
    const { warehouse } = stores()
    // Something that a rebuild from this log would not make.
    await warehouse.command(
      `INSERT INTO daily_rewards SELECT * REPLACE (cl_reward_gwei + 7 AS cl_reward_gwei, version + 1 AS version)
       FROM daily_rewards FINAL WHERE validator_index = 3`,
    )
    const ofMainnet = async () =>
      Object.entries(await dumpTables(warehouse)).map(([table, rows]) => [table, rows.filter(isOfMainnet)])
    const before = await ofMainnet()
    expect(await dumpChain(warehouse, 'hoodi')).not.toEqual(right[1])
    await rebuildFrom(eventLog, warehouse, { chain: 'hoodi' })
    expect(await dumpChain(warehouse, 'hoodi')).toEqual(right[1])
    expect(await ofMainnet()).toEqual(before)
    await rebuildFrom(eventLog, warehouse, { chain: 'mainnet', family: 'rewards' })
    expect(await dumpChain(warehouse, 'mainnet')).toEqual(right[0])
  })

  it.each(Object.entries(WRONG))(
    'of one family (%s) mends it and what follows from it',
    { timeout: TEST_MS },
    async (family, wrong) => {
      const { warehouse } = stores()
      await warehouse.command(wrong)
      if (FOLLOWED.has(family)) await deriveEverything(warehouse, 'hoodi')
      expect(await dumpChain(warehouse, 'hoodi')).not.toEqual(right[1])
      const scope = { family: family as Family, ...(family === 'execution' ? {} : { chain: 'hoodi' }) }
      await rebuildFrom(eventLog, warehouse, scope)
      expect(await dumpChain(warehouse, 'hoodi')).toEqual(right[1])
      expect(await dumpChain(warehouse, 'mainnet')).toEqual(right[0])
    },
  )

  it('is refused in a warehouse that was filled from another log', { timeout: TEST_MS }, async () => {
    const { warehouse, openLog } = stores()
    await using other = await openLog(given.events)
    await expect(rebuildFrom(other, warehouse, { chain: 'hoodi' })).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('filled from another event log'),
    })
    expect(await dumpChain(warehouse, 'hoodi')).toEqual(right[1])
    await rebuildFrom(other, warehouse)
    expect(await dumpChain(warehouse, 'mainnet')).toEqual(right[0])
    expect(await dumpChain(warehouse, 'hoodi')).toEqual({})
  })
})
