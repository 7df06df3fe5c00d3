import { describe, expect, it } from 'vitest'
import type { EventLog, ReadOptions } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { type Projecting, project } from '../../processors/loop/consume.ts'
import { openExchange } from '../../processors/loop/exchange.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { prepareFilling } from '../../processors/loop/prepare-filling.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { AppError } from '../../schemas/errors.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { chainRemoved, epochsRetracted, LOG_FACTS_KEY } from '../../schemas/events/log-facts.ts'
import { givenChain } from '../unit/given-chain.ts'
import { dumpTables, openProcess, projectEverything, projecting, rebuildFrom } from '../unit/projecting.ts'
import { silentLog } from '../unit/silent-log.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

const TEST_MS = 60_000
const never = new AbortController().signal
const { events } = givenChain()
const stores = storesOfFile()

/** The log so far, and what comes later: the last epochs, and blocks that their days wait for. */
const LATER: ReadonlyMap<Topic, number> = new Map<Topic, number>([
  ['beacon.epochs', 12],
  ['execution.blocks', 20],
])
const part = (which: 'first' | 'later'): ReadonlyMap<Topic, readonly EncodedEvent[]> =>
  new Map(
    [...events].map(([topic, list]) => {
      const at = list.length - (LATER.get(topic) ?? 0)
      return [topic, which === 'first' ? list.slice(0, at) : list.slice(at)]
    }),
  )

/** Some of every topic. */
const few: ReadonlyMap<Topic, readonly EncodedEvent[]> = new Map(
  [...events].map(([topic, list]) => [topic, list.slice(0, 8)]),
)

async function append(eventLog: EventLog, list: ReadonlyMap<Topic, readonly EncodedEvent[]>): Promise<void> {
  for (const [topic, some] of list) await eventLog.append(topic, some)
}

/** Spoils every figure, so that tables that were replaced can be told from those that were not. */
async function spoil(warehouse: Warehouse): Promise<void> {
  await warehouse.command(
    'INSERT INTO daily_rewards SELECT * REPLACE (cl_reward_gwei + 1 AS cl_reward_gwei) FROM daily_rewards FINAL',
  )
  await warehouse.command(
    'INSERT INTO execution_blocks SELECT * REPLACE (priority_fees_wei + 1 AS priority_fees_wei) FROM execution_blocks FINAL',
  )
  await warehouse.command(
    'INSERT INTO settlements SELECT * REPLACE (revenue_wei + 1 AS revenue_wei) FROM settlements FINAL',
  )
}

/** The warehouse, with something before each of its commands; what is beside it goes through the same. */
function beforeCommands(warehouse: Warehouse, before: (sql: string, database: string) => Promise<void>): Warehouse {
  const wrap = (one: Warehouse): Warehouse => ({
    database: one.database,
    beside: async (database) => wrap(await one.beside(database)),
    query: (sql, params) => one.query(sql, params),
    queryWords: (sql, params) => one.queryWords(sql, params),
    insert: (table, columns) => one.insert(table, columns),
    async command(sql, params) {
      await before(sql, one.database)
      await one.command(sql, params)
    },
    merge: (table, partitionId, signal) => one.merge(table, partitionId, signal),
    [Symbol.asyncDispose]: () => (one === warehouse ? Promise.resolve() : one[Symbol.asyncDispose]()),
  })
  return wrap(warehouse)
}

/** The log, with something before each of its readings. */
function beforeReads(eventLog: EventLog, before: (options: ReadOptions) => Promise<void>): EventLog {
  return new Proxy(eventLog, {
    get(target, name) {
      if (name === 'read') {
        return async function* (options: ReadOptions) {
          await before(options)
          yield* target.read(options)
        }
      }
      const found: unknown = Reflect.get(target, name, target)
      return typeof found === 'function' ? found.bind(target) : found
    },
  })
}

/** Processors that have come to the log's end: each call takes what was appended since. */
async function processors(ports: Projecting) {
  const at = new Map<string, bigint>()
  for (const { topic } of PROJECTORS) at.set(topic, (await ports.eventLog.ends(topic)).get(0) ?? 0n)
  return async (): Promise<void> => {
    for (const projector of PROJECTORS) {
      const from = new Map([[0, at.get(projector.topic) ?? 0n]])
      const list = await Array.fromAsync(ports.eventLog.read({ topic: projector.topic, signal: never, from }))
      if (list.length > 0) await project(ports, projector, list)
      at.set(projector.topic, (from.get(0) ?? 0n) + BigInt(list.length))
    }
  }
}

/** Tables that processors have made of these events, and the log. */
function projected(name: string, list: ReadonlyMap<Topic, readonly EncodedEvent[]>): Promise<EventLog> {
  const { warehouse, openLog, filled } = stores()
  return filled(name, async () => {
    const eventLog = await openLog(list)
    await projectEverything(await projecting(eventLog, warehouse))
    return eventLog
  })
}

/** Of the whole log. */
const whole = () => projected('whole', events)

let right: Record<string, unknown[]> | undefined

/** What becomes of the whole log. */
async function expected(): Promise<Record<string, unknown[]>> {
  if (right === undefined) {
    await using _eventLog = await whole()
    right = await dumpTables(stores().warehouse)
  }
  return right
}

/** Processors that have done the first part of the log, into tables that a rebuild has to mend; and what all of it becomes. */
async function spoiledFirstPart() {
  const right = await expected()
  const { warehouse } = stores()
  const eventLog = await projected('first', part('first'))
  const ports = await projecting(eventLog, warehouse)
  const proceed = await processors(ports)
  await spoil(warehouse)
  return { right, warehouse, eventLog, ports, proceed }
}

/** A rebuild that is killed when it has put some of its tables in place. */
async function dieInExchange(eventLog: EventLog, warehouse: Warehouse): Promise<void> {
  let replaced = 0
  const dying = beforeCommands(warehouse, async (sql) => {
    if (sql.includes('REPLACE PARTITION') && ++replaced > 3) throw new AppError('warehouse', 'killed')
  })
  await expect(rebuildFrom(eventLog, dying)).rejects.toThrow('killed')
}

describe('a rebuild that is interrupted', () => {
  it('while the log is read leaves the old tables, and nothing beside them', { timeout: TEST_MS }, async () => {
    const { warehouse } = stores()
    await using eventLog = await whole()
    await spoil(warehouse)
    const before = await dumpTables(warehouse)
    const stop = new AbortController()
    const stopping = beforeReads(eventLog, async ({ topic }) => {
      if (topic === 'beacon.epochs') stop.abort()
    })
    expect(await rebuildFrom(stopping, warehouse, {}, stop.signal)).toBe(false)
    expect(await dumpTables(warehouse)).toEqual(before)
    expect(await openExchange(warehouse)).toBeUndefined()
    expect(await warehouse.query("SELECT name FROM system.databases WHERE name LIKE '%_rebuild'")).toEqual([])
  })

  it('in the middle of the exchange ends in the new tables when a process starts, with what was added meanwhile', {
    timeout: TEST_MS,
  }, async () => {
    const { right, warehouse, eventLog, proceed } = await spoiledFirstPart()
    await using _closing = eventLog
    let replaced = 0
    const dying = beforeCommands(warehouse, async (sql) => {
      if (!sql.includes('REPLACE PARTITION')) return
      if (replaced++ === 0) {
        // Processors are at work, behind what the rebuild has read.
        await append(eventLog, part('later'))
        await proceed()
      }
      if (replaced > 9) throw new AppError('warehouse', 'killed')
    })
    await expect(rebuildFrom(eventLog, dying)).rejects.toThrow('killed')
    expect(await dumpTables(warehouse)).not.toEqual(right)
    const facts = await openLogFacts(eventLog, 0, never)
    await prepareFilling({ eventLog, warehouse, log: silentLog, facts, projectors: PROJECTORS }, 1, never)
    expect(await dumpTables(warehouse)).toEqual(right)
    expect(await openExchange(warehouse)).toBeUndefined()
    expect(await warehouse.query("SELECT name FROM system.databases WHERE name LIKE '%_rebuild'")).toEqual([])
  })

  it('in the middle of the exchange, before an upgrade with new columns, is made again when a process starts', {
    timeout: TEST_MS,
  }, async () => {
    const { right, warehouse, eventLog } = await spoiledFirstPart()
    await using _closing = eventLog
    await append(eventLog, part('later'))
    await dieInExchange(eventLog, warehouse)
    await warehouse.command('ALTER TABLE ledger_entries ADD COLUMN of_an_upgrade UInt8')
    try {
      const facts = await openLogFacts(eventLog, 0, never)
      await prepareFilling({ eventLog, warehouse, log: silentLog, facts, projectors: PROJECTORS }, 1, never)
    } finally {
      await warehouse.command('ALTER TABLE ledger_entries DROP COLUMN of_an_upgrade')
    }
    expect(await dumpTables(warehouse)).toEqual(right)
    expect(await openExchange(warehouse)).toBeUndefined()
    expect(await warehouse.query("SELECT name FROM system.databases WHERE name LIKE '%_rebuild'")).toEqual([])
  })

  it('in the middle of the exchange brings back no epochs that a process has dropped since', {
    timeout: TEST_MS,
  }, async () => {
    const { warehouse } = stores()
    await using eventLog = await whole()
    const running = await openProcess(eventLog, warehouse)
    await dieInExchange(eventLog, warehouse)
    const before = Object.fromEntries([...(await eventLog.ends('beacon.epochs'))].map(([p, end]) => [p, `${end}`]))
    const fact = { id: 'log.epochs-retracted:mainnet:12:1', key: LOG_FACTS_KEY, time: '2026-02-01T00:00:00.000Z' }
    const data = { chain: 'mainnet', fromEpoch: 12, fromSlot: 48, fromDay: parseDay('2026-01-02') ?? 0, before }
    await eventLog.append('log', [encodeEvent(epochsRetracted, { ...fact, data })])
    await running.facts.current() // drops
    const facts = await openLogFacts(eventLog, 0, never)
    await prepareFilling({ eventLog, warehouse, log: silentLog, facts, projectors: PROJECTORS }, 1, never)
    for (const table of ['finalized_blocks', 'validator_epochs', 'epochs']) {
      expect(await warehouse.query(`SELECT max(epoch) AS last FROM ${table}`), table).toEqual([{ last: 11 }])
    }
  })

  it('by another log in the middle of the exchange is not finished with this one', { timeout: TEST_MS }, async () => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using other = await openLog(few)
    const dying = beforeCommands(warehouse, async (sql) => {
      if (sql.includes('REPLACE PARTITION')) throw new AppError('warehouse', 'killed')
    })
    await expect(rebuildFrom(other, dying)).rejects.toThrow('killed')
    await using eventLog = await openLog(few)
    const facts = await openLogFacts(eventLog, 0, never)
    const filling = { eventLog, warehouse, log: silentLog, facts, projectors: PROJECTORS }
    await expect(prepareFilling(filling, 1, never)).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('from another event log was interrupted'),
    })
  })
})

describe('a rebuild while processors go on', () => {
  it('lets readers see the old figures until the exchange, and loses nothing that is added meanwhile', {
    timeout: TEST_MS,
  }, async () => {
    const { right, warehouse, eventLog, ports, proceed } = await spoiledFirstPart()
    await using _closing = eventLog
    const figures = () => warehouse.query("SELECT * FROM daily_rewards FINAL WHERE day < '2026-01-03' ORDER BY ALL")
    const old = await figures()
    expect(old.length).toBeGreaterThan(0)
    const later = [...part('later')].flatMap(([topic, list]) => list.map((event) => [topic, event] as const))
    let looks = 0
    /** A few more events, processed at once, as processors do; readers look. */
    const goOn = async (isExchanging: boolean): Promise<void> => {
      if (isExchanging && later.length === 0) return
      for (const [topic, event] of later.splice(0, 4)) await eventLog.append(topic, [event])
      await proceed()
      if (!isExchanging) {
        looks++
        expect(await figures()).toEqual(old)
      }
    }
    const busy = beforeCommands(warehouse, async (sql, database) => {
      if (sql.includes('REPLACE PARTITION')) await goOn(true)
      if (/^\s*INSERT/.test(sql) && database !== warehouse.database && looks < 5) await goOn(false)
    })
    expect(await rebuildFrom(eventLog, busy)).toBe(true)
    expect(looks).toBe(5)
    expect(later).toEqual([])
    await ports.wanted.make()
    expect(await dumpTables(warehouse)).toEqual(right)
  })

  it('reads each topic once from its beginning, and then from where it had ended', { timeout: TEST_MS }, async () => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog(few)
    await openLogFacts(eventLog, 0, never)
    const readings: ReadOptions[] = []
    await rebuildFrom(
      beforeReads(eventLog, async (options) => void readings.push(options)),
      warehouse,
    )
    const ofEvents = readings.filter(({ topic }) => events.has(topic))
    const fromBeginning = ofEvents.filter(({ from }) => (from?.get(0) ?? 0n) === 0n)
    expect(fromBeginning.map(({ topic }) => topic).toSorted()).toEqual([...events.keys()].toSorted())
    for (const { topic, from } of ofEvents.filter((reading) => !fromBeginning.includes(reading))) {
      expect(from, topic).toEqual(await eventLog.ends(topic))
    }
  })

  it('is refused when a chain was removed meanwhile, and leaves the old tables', { timeout: TEST_MS }, async () => {
    const { warehouse } = stores()
    await using eventLog = await whole()
    await spoil(warehouse)
    const before = await dumpTables(warehouse)
    let isRemoved = false
    const removing = beforeReads(eventLog, async ({ topic }) => {
      if (topic !== 'beacon.epochs' || isRemoved) return
      isRemoved = true
      await eventLog.append('log', [
        encodeEvent(chainRemoved, {
          id: 'log.chain-removed:mainnet:1',
          key: LOG_FACTS_KEY,
          time: '2026-02-01T00:00:00.000Z',
          data: { chain: 'mainnet', before: { 'beacon.epochs': { 0: '1000' } } },
        }),
      ])
    })
    await expect(rebuildFrom(removing, warehouse)).rejects.toMatchObject({ code: 'usage' })
    expect(await dumpTables(warehouse)).toEqual(before)
  })
})
