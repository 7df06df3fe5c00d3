import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { type Projector, project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { proveRevenue, proveSettlements } from '../../processors/verify/prove-settlements.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { FAMILIES } from '../../schemas/tables/projections.ts'
import { PATIENCE, tries } from '../long-form.ts'
import { rated, tracked, trackedBefore, untracked, watched } from '../unit/account-facts.ts'
import { emptyTables } from '../unit/filled-tables.ts'
import { givenChain, givenKey } from '../unit/given-chain.ts'
import { dumpTables, projectEverything, projecting, rebuildFrom } from '../unit/projecting.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

const TEST_MS = 120_000 * PATIENCE
/** Each settles some ten times. */
const RUNS = tries(2, 60)
const never = new AbortController().signal
const chain = givenChain()
const stores = storesOfFile()
const [firstDay = '', secondDay = '', thirdDay = ''] = chain.wholeDays
const keys = Array.from({ length: chain.validators }, (_, index) => givenKey(index))
let warehouse: Warehouse

interface Settled {
  readonly account: string
  readonly day: string
  readonly slots: string
}

/** Whose blocks were settled on which days; of the validators with these keys. */
function settled(pubkeys: readonly string[]): Promise<Settled[]> {
  return warehouse.query<Settled>(
    `SELECT account, toString(toDate(time + 28800)) AS day, count() AS slots FROM settlements FINAL
     WHERE has({pubkeys:Array(String)}, toString(pubkey)) GROUP BY account, day ORDER BY day, account`,
    { pubkeys },
  )
}

const withAccounts = (facts: readonly EncodedEvent[]): ReadonlyMap<Topic, readonly EncodedEvent[]> =>
  new Map([...chain.events, ['accounts', facts]])

/** Appends facts about accounts, and makes what follows from them. */
async function tell(eventLog: EventLog, facts: readonly EncodedEvent[]): Promise<void> {
  await eventLog.append('accounts', facts)
  const ofAccounts = PROJECTORS.filter(({ topic }) => topic === 'accounts')
  await projectEverything(await projecting(eventLog, warehouse), ofAccounts)
}

/** Tables of the chain, and of these facts about accounts. */
async function told(facts: readonly EncodedEvent[]): Promise<EventLog> {
  const { openLog, filled } = stores()
  const eventLog = await filled('chain', async () => {
    const ofChain = await openLog(withAccounts([]))
    await projectEverything(await projecting(ofChain, warehouse))
    return ofChain
  })
  await tell(eventLog, facts)
  return eventLog
}

beforeAll(() => {
  warehouse = stores().warehouse
})

describe('a block is settled', () => {
  it('for the account that has its proposer on the block’s day, and a move takes back what it had been', {
    timeout: TEST_MS,
  }, async () => {
    await using eventLog = await told([tracked('a', keys), rated('b', '0.5', 0)])
    const before = await settled(keys)
    expect(new Set(before.map(({ account }) => account))).toEqual(new Set(['a']))

    await warehouse.command('CREATE TABLE late_settlements AS settlements')
    await warehouse.command('INSERT INTO late_settlements SELECT * FROM settlements FINAL')

    await tell(eventLog, [tracked('b', keys, secondDay), untracked(keys, thirdDay)])
    const expected = before
      .filter(({ day }) => day < thirdDay)
      .map((row) => (row.day < secondDay ? row : { ...row, account: 'b' }))
    expect(await settled(keys)).toEqual(expected)
    expect(await warehouse.query(`SELECT DISTINCT fee_rate FROM settlements FINAL WHERE account = 'b'`)).toEqual([
      { fee_rate: '0.5' },
    ])
    expect(await proveSettlements(warehouse)).toMatchObject({ wrong: 0 })

    // A job that had read the older facts, and writes last.
    await warehouse.command('INSERT INTO settlements SELECT * FROM late_settlements')
    await warehouse.command('DROP TABLE late_settlements')
    expect(await settled(keys)).toEqual(expected)

    // A correction of the same day, by a newer fact.
    await tell(eventLog, [tracked('a', keys, secondDay), tracked('a', keys, thirdDay)])
    expect(await settled(keys)).toEqual(before)
  })

  it('for the one that was named last where a log of an earlier release had paid two', {
    timeout: TEST_MS,
  }, async () => {
    const [disputed = '', ...rest] = keys
    await using _eventLog = await told([trackedBefore('a', keys), trackedBefore('b', [disputed])])
    const accountsOf = async (pubkeys: readonly string[]) =>
      new Set((await settled(pubkeys)).map(({ account }) => account))
    expect(await accountsOf([disputed])).toEqual(new Set(['b']))
    expect(await accountsOf(rest)).toEqual(new Set(['a']))
    expect(await proveRevenue(warehouse)).toMatchObject([{ nobodys_wei: '0', blocks_oversettled: '0' }])
  })

  it('for whom its validator was moved to together with thousands that propose nothing', {
    timeout: TEST_MS,
  }, async () => {
    const many = [...keys, ...Array.from({ length: 2_500 }, (_, i) => givenKey(chain.validators + i))]
    await using eventLog = await told([tracked('a', many)])
    const before = await settled(keys)
    expect(new Set(before.map(({ account }) => account))).toEqual(new Set(['a']))
    await tell(eventLog, [tracked('b', many, secondDay)])
    expect(await settled(keys)).toEqual(before.map((row) => (row.day < secondDay ? row : { ...row, account: 'b' })))
    expect(await proveSettlements(warehouse)).toMatchObject({ wrong: 0 })
  })

  it('for nobody who only watches', { timeout: TEST_MS }, async () => {
    await using _eventLog = await told([watched('a', keys)])
    expect(await settled(keys)).toEqual([])
    const [proof] = await proveRevenue(warehouse)
    expect(proof).toMatchObject({ settled_wei: '0', blocks_oversettled: '0' })
    expect(proof?.nobodys_wei).toBe(proof?.proven_wei)
    expect(BigInt(proof?.proven_wei ?? 0)).toBeGreaterThan(0n)
  })

  it('at the rate in force, and the proof names one that is not', { timeout: TEST_MS }, async () => {
    await using _eventLog = await told([tracked('a', keys), rated('a', '0.1', 0)])
    expect(await proveSettlements(warehouse)).toMatchObject({ wrong: 0 })
    await warehouse.command(
      `INSERT INTO settlements SELECT * REPLACE (
         '0.5' AS fee_rate, intDiv(s.revenue_wei, 2) AS service_fee_wei, s.revenue_wei - intDiv(s.revenue_wei, 2) AS user_reward_wei,
         s.version + 1 AS version)
       FROM settlements AS s FINAL ORDER BY slot LIMIT 1`,
    )
    const reason = 'the rate is not the one in force'
    expect(await proveSettlements(warehouse)).toMatchObject({ wrong: 1, examples: [{ account: 'a', reason }] })
  })

  it('for one account at most, and the proof names a block that was for two', { timeout: TEST_MS }, async () => {
    await using _eventLog = await told([tracked('a', keys)])
    await warehouse.command(
      `INSERT INTO settlements SELECT * REPLACE ('b' AS account) FROM settlements FINAL ORDER BY slot LIMIT 1`,
    )
    const [first] = await warehouse.query<{ slot: string }>('SELECT min(slot) AS slot FROM settlements')
    expect(await proveRevenue(warehouse)).toMatchObject([{ blocks_oversettled: '1', slots_oversettled: [first?.slot] }])
    expect(await proveSettlements(warehouse)).toMatchObject({
      wrong: 1,
      examples: [{ account: 'b', reason: 'settled without proven revenue' }],
    })
  })
})

const account = fc.constantFrom('a', 'b', 'c')
const someKeys = fc.subarray(keys, { minLength: 1 })
const day = fc.constantFrom(firstDay, secondDay, thirdDay)
const fact = fc.oneof(
  fc.tuple(account, someKeys, fc.option(day, { nil: undefined })).map((args) => tracked(...args)),
  fc.tuple(someKeys, day).map((args) => untracked(...args)),
  fc.tuple(account, someKeys).map((args) => watched(...args)),
  fc
    .tuple(account, fc.constantFrom('0.1', '0.25', '1'), day)
    .map(([who, rate, from]) => rated(who, rate, parseDay(from) ?? 0)),
)

it('are known to tables that an earlier release has filled, without reading the log again', {
  timeout: TEST_MS,
}, async () => {
  const [disputed = '', ...rest] = keys
  const facts = [trackedBefore('a', keys), trackedBefore('b', [disputed]), trackedBefore('c', rest.slice(0, 1))]
  await using _eventLog = await told(facts)
  const owners = 'SELECT * FROM validator_owners FINAL ORDER BY pubkey'
  const expected = await warehouse.query(owners)

  const migrations = await readMigrations()
  await using older = await warehouse.beside('older')
  await migrate(
    older,
    migrations.slice(
      0,
      migrations.findIndex(({ name }) => name.endsWith('_owners')),
    ),
  )
  await older.command(`INSERT INTO account_validators SELECT * FROM ${warehouse.database}.account_validators FINAL`)
  await migrate(older, migrations)
  expect(await older.query(owners)).toEqual(expected)
  expect(expected).toHaveLength(keys.length)
})

describe('any facts about accounts', () => {
  it('end in the tables of a rebuild however they are delivered, and in no wei that was settled twice', {
    timeout: TEST_MS,
  }, async () => {
    const { openLog, empty } = stores()
    const facts = fc.array(fact, { minLength: 1, maxLength: 8 })
    /** Of each delivery: which fact, and whether what is wanted is made behind it. */
    const deliveries = fc.array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(facts, deliveries, async (some, disorder) => {
        await empty()
        await using eventLog = await openLog(withAccounts(some))
        await rebuildFrom(eventLog, warehouse)
        const expected = await dumpTables(warehouse)

        await emptyTables(warehouse, Object.keys({ ...FAMILIES.accounts, ...FAMILIES.settlements }))
        const projector = PROJECTORS.find(({ topic }) => topic === 'accounts') as Projector
        const stored = await Array.fromAsync(eventLog.read({ topic: 'accounts', signal: never }))
        const ports = await projecting(eventLog, warehouse)
        for (const [number, makes] of disorder) {
          await project(ports, projector, [stored[number % stored.length] as StoredEvent])
          if (makes) await ports.wanted.make()
        }
        for (const one of stored) await project(ports, projector, [one])
        await ports.wanted.make()
        expect(await dumpTables(warehouse)).toEqual(expected)
        expect(await proveSettlements(warehouse)).toMatchObject({ wrong: 0 })
        for (const proof of await proveRevenue(warehouse)) {
          expect(proof.blocks_oversettled).toBe('0')
          expect(BigInt(proof.settled_wei) + BigInt(proof.nobodys_wei)).toBe(BigInt(proof.proven_wei))
        }
      }),
      { numRuns: RUNS, seed: 7 },
    )
  })
})
