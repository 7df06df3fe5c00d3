import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Standings } from '../../api/http/standings.ts'
import { accountDays } from '../../api/rewards/account-days.ts'
import { accountTotals } from '../../api/rewards/account-totals.ts'
import { horizonOf } from '../../api/rewards/horizon.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { executionRevertEvent } from '../../ingest/execution/block-events.ts'
import { type Projector, project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { settleBlocks } from '../../processors/settlements/settle.ts'
import { findDayGaps } from '../../processors/verify/day-gaps.ts'
import { proveDays } from '../../processors/verify/prove-days.ts'
import { proveEpochs } from '../../processors/verify/prove-epochs.ts'
import { proveSettlements } from '../../processors/verify/prove-settlements.ts'
import { findUnexplainedRevenue } from '../../processors/verify/unexplained-revenue.ts'
import { AppError } from '../../schemas/errors.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY, feeRateSet } from '../../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { executionBlock, lastCoinbaseTransfer } from '../../schemas/events/execution-block.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { PROJECTIONS } from '../../schemas/tables/projections.ts'
import { epochOfEvent, keepValidators, withFailedPayment, withoutExecutionBlocks } from './changed-events.ts'
import { givenChain } from './given-chain.ts'
import { dumpTables, projecting, rebuildFrom } from './projecting.ts'

type Events = ReadonlyMap<Topic, readonly EncodedEvent[]>
type Row = Record<string, string | number>

const SLOTS_PER_EPOCH = 4
const TEST_MS = 60_000
const never = new AbortController().signal
const chain = givenChain()
const directory = mkdtempSync(join(tmpdir(), 'epochline-partial-'))
let warehouse: Warehouse
/** The whole rows of the whole chain. */
let truth: readonly Row[]
let logs = 0

beforeAll(async () => {
  warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
  await migrate(warehouse, await readMigrations())
  await rebuilt(chain.events)
  truth = await wholeRows()
})

afterAll(async () => {
  await warehouse[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

async function openLog(events: Events): Promise<EventLog> {
  const eventLog = await openSqliteEventLog({ file: join(directory, `log-${logs++}.sqlite`) })
  for (const [topic, list] of events) await eventLog.append(topic, list)
  return eventLog
}

async function rebuilt(events: Events): Promise<void> {
  await using eventLog = await openLog(events)
  await rebuildFrom(eventLog, warehouse)
}

const dump = () => dumpTables(warehouse)

const wholeRows = () =>
  warehouse.query<Row>(
    'SELECT * EXCEPT (version) FROM daily_rewards FINAL WHERE is_whole = 1 ORDER BY day, validator_index',
  )

const finalized = (change: (event: EncodedEvent, epoch: number) => EncodedEvent): readonly EncodedEvent[] =>
  (chain.events.get('beacon.epochs') ?? []).map((event) => change(event, epochOfEvent(event, SLOTS_PER_EPOCH)))

/** The finalized stream as it is when each validator is tracked from an epoch on. */
const trackedFrom = (epochs: readonly number[]): readonly EncodedEvent[] =>
  finalized((event, epoch) => keepValidators(event, (validator) => (epochs[validator] as number) <= epoch))

const withEpochs = (events: readonly EncodedEvent[]): Events => new Map([...chain.events, ['beacon.epochs', events]])

async function look() {
  const standing = await new Standings(warehouse).of('mainnet')
  const horizon = await horizonOf(standing)
  if (horizon === undefined) throw new Error('no complete epoch')
  return { scope: { standing, account: 'a', shared: warehouse }, horizon }
}

async function totals() {
  const { scope, horizon } = await look()
  return accountTotals(scope, horizon)
}

const wholeDays = async () => {
  const { scope, horizon } = await look()
  const [first, last] = [chain.wholeDays[0], chain.wholeDays.at(-1)].map((day) => parseDay(day ?? '') ?? 0)
  return accountDays(scope, horizon, { from: first as number, to: (last as number) + 1 })
}

describe('validators that are tracked late', () => {
  const late = [0, 0, 7, 12, 0] // validator 2 with the epoch of its top-up

  it('have whole days where they were followed, a visible gap before, and equal figures', {
    timeout: TEST_MS,
  }, async () => {
    await rebuilt(withEpochs(trackedFrom(late)))
    const whole = await wholeRows()
    for (const row of whole) expect(truth).toContainEqual(row)
    for (const proof of (await Array.fromAsync(proveDays(warehouse))).flat()) {
      expect(proof).toMatchObject({ residual: '0', stored_agrees: 1 })
    }
    const missingOf = (day: string) => 5 - whole.filter((row) => row.day === day).length
    const gaps = await findDayGaps(warehouse)
    expect(gaps.map(({ day, validators_missing }) => [day, Number(validators_missing)])).toEqual(
      chain.wholeDays.filter((day) => missingOf(day) > 0).map((day) => [day, missingOf(day)]),
    )
    expect(gaps.length).toBeGreaterThan(0)
    expect((await wholeDays()).map(({ date, validators, missing }) => [date, validators, missing])).toEqual(
      chain.wholeDays.map((day) => [day, 5 - missingOf(day), missingOf(day)]),
    )
  })

  it('keep in the totals what is known of the day in which they were tracked, when it is closed', {
    timeout: TEST_MS,
  }, async () => {
    await rebuilt(withEpochs(trackedFrom(late)))
    const closed = await totals()
    await warehouse.command('TRUNCATE TABLE closed_days')
    expect(await totals()).toEqual(closed)
  })

  it('have whole days once the past was backfilled', { timeout: TEST_MS }, async () => {
    const backfill = finalized((event) => event).slice(0, -6)
    await rebuilt(withEpochs([...trackedFrom(late), ...backfill]))
    expect(await wholeRows()).toEqual(truth)
    expect(await findDayGaps(warehouse)).toEqual([])
  })

  it('do not fail the proof when only a day before was backfilled', { timeout: TEST_MS }, async () => {
    const [day = ''] = chain.wholeDays
    const [, next = ''] = chain.wholeDays
    // The second whole day begins with slot 47: tracked within it, and the day before backfilled.
    const since = [0, 0, 0, 13, 0]
    const backfill = finalized((event) => event).filter((event) => {
      const epoch = epochOfEvent(event, SLOTS_PER_EPOCH)
      return epoch >= 5 && epoch <= 11
    })
    await rebuilt(withEpochs([...trackedFrom(since), ...backfill]))
    const own = (await wholeRows()).filter(({ validator_index }) => validator_index === 3).map((row) => row.day)
    expect(own).toContain(day)
    expect(own).not.toContain(next)
    for (const proof of (await Array.fromAsync(proveDays(warehouse))).flat()) {
      expect(proof).toMatchObject({ residual: '0', stored_agrees: 1 })
    }
    expect(await findDayGaps(warehouse)).toMatchObject([{ day: next, closed: 1, validators_missing: '1' }])
  })
})

describe('a settlement', () => {
  const blocks = chain.events.get('execution.blocks') ?? []
  const builders = blocks.filter((event) => lastCoinbaseTransfer(decodeEvent(executionBlock, event)) !== undefined)
  const settled = () => warehouse.query<Row>('SELECT * EXCEPT (version) FROM settlements FINAL ORDER BY slot')

  const reverted = (event: EncodedEvent): EncodedEvent => {
    const { chain, number, hash } = decodeEvent(executionBlock, event).header
    return executionRevertEvent(chain, { number, hash }, event.time)
  }

  it.each([
    ['turns out to prove no revenue', withFailedPayment],
    ['is reverted', reverted],
  ])('is taken back when its block %s, and comes again with it', { timeout: TEST_MS }, async (_, change) => {
    await rebuilt(chain.events)
    const before = await settled()
    const changed = builders.map(change)
    await using eventLog = await openLog(new Map([['execution.blocks', [...blocks, ...changed, ...builders]]]))
    const stored = await Array.fromAsync(eventLog.read({ topic: 'execution.blocks', signal: never }))
    const projector = PROJECTORS.find(({ topic }) => topic === 'execution.blocks')
    if (projector === undefined) throw new Error('no projector of execution blocks')
    const ports = await projecting(eventLog, warehouse)
    await project(ports, projector, stored.slice(blocks.length, blocks.length + changed.length))
    await ports.wanted.make()
    expect((await settled()).map(({ slot }) => slot)).toEqual(
      before.map(({ slot }) => slot).filter((slot) => Number(slot) % 2 === 0),
    )
    expect(await proveSettlements(warehouse)).toMatchObject({ wrong: 0 })
    await project(ports, projector, stored.slice(blocks.length + changed.length))
    await ports.wanted.make()
    expect(await settled()).toEqual(before)
  })

  it('comes, and its day’s revenue with it, when the operator tells whom the proposer is paid at', {
    timeout: TEST_MS,
  }, async () => {
    const facts = chain.events.get('accounts') ?? []
    const isTold = ({ type }: EncodedEvent) => type === feeRecipientsTold.name
    const told = facts.filter(isTold)
    await using eventLog = await openLog(
      new Map([...chain.events, ['accounts', [...facts.filter((fact) => !isTold(fact)), ...told]]]),
    )
    await rebuildFrom(eventLog, warehouse)
    const whole = await dump()
    const builderSlots = builders.map((event) => decodeEvent(executionBlock, event).header.number)
    await using untold = await openLog(new Map([...chain.events, ['accounts', facts.filter((fact) => !isTold(fact))]]))
    await rebuildFrom(untold, warehouse)
    const before = (await settled()).map(({ slot }) => Number(slot))
    // Odd validators propose builders' blocks only, so nothing shows whom they are paid at.
    expect(before.filter((slot) => builderSlots.includes(slot))).toEqual([])
    const [unexplained] = await findUnexplainedRevenue(warehouse)
    const closed = await warehouse.query<{ slot: string }>(
      'SELECT slot FROM finalized_blocks FINAL WHERE proposer_index < 5 AND day IN (SELECT day FROM closed_days)',
    )
    const own = closed.map(({ slot }) => Number(slot)).filter((slot) => builderSlots.includes(slot))
    const claimed = own.reduce((sum, slot) => sum + 10n ** 15n + BigInt(slot), 0n)
    expect(unexplained).toMatchObject({ chain: 'mainnet', blocks: `${own.length}`, claimed_wei: `${claimed}` })
    expect(own.length).toBeGreaterThan(0)
    const projector = PROJECTORS.find(({ topic }) => topic === 'accounts')
    if (projector === undefined) throw new Error('no projector of accounts')
    const ports = await projecting(eventLog, warehouse)
    const stored = await Array.fromAsync(eventLog.read({ topic: 'accounts', signal: never }))
    await project(ports, projector, stored.slice(-told.length))
    await ports.wanted.make()
    expect(await dump()).toEqual(whole)
    expect(await findUnexplainedRevenue(warehouse)).toEqual([])
  })

  it('is proven: one that is missing, one that pays nothing proven and one with a wrong fee are named', {
    timeout: TEST_MS,
  }, async () => {
    await rebuilt(chain.events)
    expect(await proveSettlements(warehouse)).toEqual({ checked: chain.settledBlocks, wrong: 0, examples: [] })
    const [first, second] = (await settled()).map(({ slot }) => slot)
    const change = (what: string) =>
      warehouse.command(
        `INSERT INTO settlements SELECT * REPLACE (${what}, version + 1 AS version) FROM settlements AS s FINAL WHERE s.slot = ${second}`,
      )
    await warehouse.command(`ALTER TABLE settlements DELETE WHERE slot = ${first} SETTINGS mutations_sync = 1`)
    await change('service_fee_wei + 1 AS service_fee_wei, user_reward_wei - 1 AS user_reward_wei')
    await change('slot + 1000 AS slot')
    expect(await proveSettlements(warehouse)).toEqual({
      checked: chain.settledBlocks + 1,
      wrong: 3,
      examples: [
        { chain: 'mainnet', account: 'a', slot: first, reason: 'proven revenue is not settled' },
        {
          chain: 'mainnet',
          account: 'a',
          slot: second,
          reason: 'the fee is not the revenue times the rate, rounded down',
        },
        {
          chain: 'mainnet',
          account: 'a',
          slot: String(Number(second) + 1000),
          reason: 'settled without proven revenue',
        },
      ],
    })
  })

  it('is made in pages where the history of an account is long', { timeout: TEST_MS }, async () => {
    await rebuilt(chain.events)
    const before = await settled()
    await warehouse.command('TRUNCATE TABLE settlements')
    await settleBlocks(warehouse, { by: 'account', account: 'a' }, 7)
    expect(await settled()).toEqual(before)
  })

  it('takes a rate from the beginning of time as one that had begun, and one of the far future as one that had not', {
    timeout: TEST_MS,
  }, async () => {
    const rate = (text: string, effectiveFrom: string) =>
      encodeEvent(feeRateSet, {
        id: `account.fee-rate-set:a:${effectiveFrom}`,
        key: ACCOUNTS_KEY,
        time: '2026-01-01T00:00:00.000Z',
        data: { account: 'a', rate: text, effectiveFrom },
      })
    const facts = (chain.events.get('accounts') ?? []).filter(({ type }) => type !== feeRateSet.name)
    const rates = [rate('0.125', '1969-12-31T16:00:00.000Z'), rate('0.5', '9999-12-31T16:00:00.000Z')]
    await rebuilt(new Map([...chain.events, ['accounts', [...facts, ...rates]]]))
    expect(await warehouse.query('SELECT DISTINCT fee_rate FROM settlements FINAL')).toEqual([{ fee_rate: '0.125' }])
  })
})

describe('closing and proving days', () => {
  it('closes days before the merge, whose blocks have no execution block', { timeout: TEST_MS }, async () => {
    const events = new Map([...withEpochs(finalized(withoutExecutionBlocks)), ['execution.blocks' as Topic, []]])
    await rebuilt(events)
    const rows = await wholeRows()
    expect([...new Set(rows.map(({ day }) => day))]).toEqual(chain.wholeDays)
    expect(rows.some(({ blocks }) => Number(blocks) > 0)).toBe(true)
    expect(await proveSettlements(warehouse)).toEqual({ checked: 0, wrong: 0, examples: [] })
  })

  it('has nothing to say of the first epoch of a log that begins with epoch 1', { timeout: TEST_MS }, async () => {
    const late = (chain.events.get('beacon.epochs') ?? []).filter((e) => epochOfEvent(e, SLOTS_PER_EPOCH) >= 1)
    await rebuilt(withEpochs(late))
    expect(await proveEpochs(warehouse)).toMatchObject({ unexplained: 0 })
  })

  it('sees a row that is missing, a revenue that is wrong, a day that is open between closed ones', {
    timeout: TEST_MS,
  }, async () => {
    await rebuilt(chain.events)
    const [first, second, third] = chain.wholeDays
    await warehouse.command(
      `ALTER TABLE daily_rewards DELETE WHERE day = '${first}' AND validator_index = 3 SETTINGS mutations_sync = 1`,
    )
    await warehouse.command(`INSERT INTO daily_rewards SELECT * REPLACE (el_reward_wei + 1 AS el_reward_wei, version + 1 AS version)
      FROM daily_rewards FINAL WHERE day = '${third}' AND validator_index = 1`)
    await warehouse.command(`ALTER TABLE closed_days DELETE WHERE day = '${second}' SETTINGS mutations_sync = 1`)
    const wrong = (await Array.fromAsync(proveDays(warehouse)))
      .flat()
      .filter(({ stored_agrees }) => stored_agrees !== 1)
    expect(wrong.map(({ day, validator_index }) => [day, validator_index])).toEqual([
      [first, 3],
      [third, 1],
    ])
    expect(await findDayGaps(warehouse)).toMatchObject([
      { day: first, closed: 1, validators_missing: '1' },
      { day: second, closed: 0, epochs: expect.stringMatching(/^[1-9]/) },
    ])
  })
})

it('is rebuilt to the end although the warehouse is away for a moment', { timeout: TEST_MS }, async () => {
  await rebuilt(chain.events)
  const expected = await dump()
  let failures = 1
  const failingOnce = (one: Warehouse): Warehouse => ({
    database: one.database,
    beside: async (database) => failingOnce(await one.beside(database)),
    query: (sql, params) => one.query(sql, params),
    command: (sql, params) => one.command(sql, params),
    async insert(table, columns) {
      if (table === 'execution_blocks' && failures-- > 0) throw new AppError('warehouse', 'away', { retryable: true })
      await one.insert(table, columns)
    },
    [Symbol.asyncDispose]: () => (one === warehouse ? Promise.resolve() : one[Symbol.asyncDispose]()),
  })
  await using eventLog = await openLog(chain.events)
  await rebuildFrom(eventLog, failingOnce(warehouse))
  expect(await dump()).toEqual(expected)
  expect(failures).toBeLessThan(1)
})

it('does not set an event aside again when the log is replayed', { timeout: TEST_MS }, async () => {
  const [event] = chain.events.get('beacon.epochs') ?? []
  await using eventLog = await openLog(withEpochs([{ ...(event as EncodedEvent), id: 'broken', version: 99 }]))
  const letters = async () => (await Array.fromAsync(eventLog.read({ topic: 'dead-letters', signal: never }))).length
  const rows: unknown[] = []
  for (const _ of [1, 2, 3]) {
    await rebuildFrom(eventLog, warehouse)
    expect(await letters()).toBe(1)
    rows.push(await warehouse.query('SELECT * FROM dead_letters FINAL'))
  }
  expect(rows[1]).toEqual(rows[0])
  expect(rows[2]).toEqual(rows[0])
})

/** Small and repeatable (mulberry32): a scenario is named by its seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % below
  }
}

describe.each([1, 2, 3, 4])('scenario %i of late tracking, backfills, repetitions and interleaving', (seed) => {
  it('ends in the tables of a rebuild, with figures that are those of the whole chain', {
    timeout: TEST_MS,
  }, async () => {
    const random = randomOf(seed)
    const truthOf = new Map(truth.map((row) => [`${row.day}/${row.validator_index}`, row]))

    const since = Array.from({ length: 5 }, () => (random(3) === 0 ? 0 : random(20)))
    const epochs = [...trackedFrom(since)]
    for (let runs = random(3); runs > 0; runs--) {
      const from = random(18)
      const to = from + random(8)
      epochs.push(...finalized((event) => event).filter((e) => epochOfEvent(e, 4) >= from && epochOfEvent(e, 4) <= to))
    }
    const execution = [...(chain.events.get('execution.blocks') ?? [])]
    for (let copies = random(20); copies > 0; copies--) execution.push(execution[random(60)] as EncodedEvent)
    await using eventLog = await openLog(new Map([...withEpochs(epochs), ['execution.blocks', execution]]))
    const ports = await projecting(eventLog, warehouse)
    await rebuildFrom(eventLog, warehouse)
    const expected = await dump()

    for (const table of Object.keys(PROJECTIONS)) await warehouse.command(`TRUNCATE TABLE ${table}`)
    // Only events of one key keep their order: each key is a queue of its own.
    const queues: { readonly projector: Projector; readonly left: StoredEvent[] }[] = []
    for (const projector of PROJECTORS) {
      const stored = await Array.fromAsync(eventLog.read({ topic: projector.topic, signal: never }))
      for (const left of Map.groupBy(stored, ({ event }) => event.key).values()) queues.push({ projector, left })
    }
    while (queues.some(({ left }) => left.length > 0)) {
      const { projector, left } = queues[random(queues.length)] as (typeof queues)[number]
      const batch: StoredEvent[] = left.splice(0, 1 + random(32))
      if (batch.length > 0) await project(ports, projector, batch)
      if (random(4) === 0 && batch.length > 0) await project(ports, projector, batch)
      if (random(6) === 0) await ports.wanted.make()
    }
    await ports.wanted.make()
    expect(await dump()).toEqual(expected)

    for (const row of await wholeRows()) {
      expect(row, JSON.stringify({ since, row })).toEqual(truthOf.get(`${row.day}/${row.validator_index}`))
    }
    expect(await proveSettlements(warehouse)).toMatchObject({ checked: chain.settledBlocks, wrong: 0 })
    const closed = await totals()
    await warehouse.command('TRUNCATE TABLE closed_days')
    expect(await totals()).toEqual(closed)
  })
})
