import { describe, expect, it } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { runDeriveDay } from '../../processors/derive.ts'
import { type Projector, project } from '../../processors/loop/consume.ts'
import { TABLES_OF_CHAINS } from '../../processors/loop/drop-chains.ts'
import { LogFactsReader, openLogFacts } from '../../processors/loop/log-facts.ts'
import { prepareFilling } from '../../processors/loop/prepare-filling.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import { type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { CHAINLESS_TOPICS, TOPICS } from '../../schemas/events/envelope.ts'
import { chainRemoved, LOG_FACTS_KEY } from '../../schemas/events/log-facts.ts'
import { FAMILIES } from '../../schemas/tables/projections.ts'
import { givenChain } from '../unit/given-chain.ts'
import { dumpChain, dumpTables, openProcess, projectEverything, rebuildFrom } from '../unit/projecting.ts'
import { inTurns, renamed } from '../unit/renamed-chain.ts'
import { silentLog } from '../unit/silent-log.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

const TEST_MS = 60_000
const never = new AbortController().signal
const given = givenChain(18)
const hoodi = renamed(given.events, 'hoodi')
const both = inTurns(given.events, hoodi)
/** Added again, a chain has a part of its history. */
const again: ReadonlyMap<Topic, readonly EncodedEvent[]> = new Map(
  [...hoodi].filter(([topic]) => topic !== 'accounts').map(([topic, list]) => [topic, list.slice(-list.length / 2)]),
)
const stores = storesOfFile()
let removals = 0

/** What `chain remove` appends. */
async function remove(eventLog: EventLog, chain: string): Promise<void> {
  const before: Record<string, Record<string, string>> = {}
  for (const topic of TOPICS.filter((one) => !CHAINLESS_TOPICS.has(one))) {
    const ends = await eventLog.ends(topic)
    before[topic] = Object.fromEntries([...ends].map(([partition, end]) => [String(partition), String(end)]))
  }
  const time = '2026-02-01T00:00:00.000Z'
  const id = `log.chain-removed:${chain}:${++removals}`
  await eventLog.append('log', [encodeEvent(chainRemoved, { id, key: LOG_FACTS_KEY, time, data: { chain, before } })])
}

async function append(eventLog: EventLog, events: ReadonlyMap<Topic, readonly EncodedEvent[]>): Promise<void> {
  for (const [topic, list] of events) await eventLog.append(topic, list)
}

async function rowsOf(warehouse: Warehouse, chain: string): Promise<Readonly<Record<string, unknown[]>>> {
  const tables = await dumpTables(warehouse)
  const own = TABLES_OF_CHAINS.map((table) => [
    table,
    tables[table]?.filter((row) => (row as { chain: string }).chain === chain) ?? [],
  ])
  return Object.fromEntries(own.filter(([, rows]) => (rows as unknown[]).length > 0))
}

/** Tables with all of these events, of a process that has ended, and their log. */
function projected(name: string, events: ReadonlyMap<Topic, readonly EncodedEvent[]>): Promise<EventLog> {
  const { warehouse, openLog, filled } = stores()
  return filled(name, async () => {
    const eventLog = await openLog(events)
    await projectEverything(await openProcess(eventLog, warehouse))
    return eventLog
  })
}

/** Empty tables, and a log with these events. */
async function unread(events: ReadonlyMap<Topic, readonly EncodedEvent[]>): Promise<EventLog> {
  await stores().empty()
  return stores().openLog(events)
}

const projectorOf = (topic: Topic): Projector => {
  const found = PROJECTORS.find((projector) => projector.topic === topic)
  if (found === undefined) throw new Error(`nobody projects ${topic}`)
  return found
}

describe('a chain that is removed', () => {
  it('has no rows afterwards, once its removal is read and after a rebuild; the other chain keeps its own', {
    timeout: TEST_MS,
  }, async () => {
    const { warehouse } = stores()
    await using eventLog = await projected('both', both)
    const process = await openProcess(eventLog, warehouse)
    const mainnet = await dumpChain(warehouse, 'mainnet')
    expect(Object.keys(await rowsOf(warehouse, 'hoodi')).length).toBeGreaterThan(8)
    await remove(eventLog, 'hoodi')
    await projectEverything(process)
    expect(await rowsOf(warehouse, 'hoodi')).toEqual({})
    expect(await dumpChain(warehouse, 'mainnet')).toEqual(mainnet)
    const removed = await dumpTables(warehouse)
    await rebuildFrom(eventLog, warehouse)
    expect(await dumpTables(warehouse)).toEqual(removed)
  })

  it('leaves no rows where its removal is read at a start that has to fill tables anew', {
    timeout: TEST_MS,
  }, async () => {
    const { warehouse } = stores()
    await using eventLog = await projected('both', both)
    await remove(eventLog, 'hoodi')
    await warehouse.command('TRUNCATE TABLE filled_from') // as a release does that has new columns
    const facts = await openLogFacts(eventLog, 0, never)
    await prepareFilling({ eventLog, warehouse, log: silentLog, facts, projectors: PROJECTORS }, 0, never)
    await projectEverything(await openProcess(eventLog, warehouse))
    expect(await rowsOf(warehouse, 'hoodi')).toEqual({})
  })

  it('keeps the rows that it has after it was added again, whoever reads its removal', {
    timeout: TEST_MS,
  }, async () => {
    const { warehouse } = stores()
    await using eventLog = await projected('both', both)
    // All while no process runs: then two start, and see everything at once.
    await remove(eventLog, 'hoodi')
    await append(eventLog, again)
    const first = await openProcess(eventLog, warehouse)
    await projectEverything(first)
    const rows = await dumpTables(warehouse)
    expect(Object.keys(await rowsOf(warehouse, 'hoodi'))).toContain('epochs')
    await projectEverything(await openProcess(eventLog, warehouse))
    await projectEverything(first)
    expect(await dumpTables(warehouse)).toEqual(rows)
    await rebuildFrom(eventLog, warehouse)
    expect(await dumpTables(warehouse)).toEqual(rows)
    await rebuildFrom(eventLog, warehouse, { chain: 'hoodi' })
    expect(await dumpTables(warehouse)).toEqual(rows)
  })

  it('is dropped by one of two processes that see it at the same moment', { timeout: TEST_MS }, async () => {
    const { warehouse } = stores()
    await using eventLog = await projected('hoodi', hoodi)
    await remove(eventLog, 'hoodi')
    await append(eventLog, again)
    let drops = 0
    const reached = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const slow: Warehouse = {
      ...warehouse,
      async command(sql, params) {
        if (sql.includes('DROP PARTITION') && drops++ === 0) {
          reached.resolve()
          await goOn.promise
        }
        await warehouse.command(sql, params)
      },
    }
    const slower = openProcess(eventLog, slow)
    await reached.promise
    // The other goes on as soon as this one waits for it, or has not waited.
    const faster = openProcess(whenLeased(eventLog, goOn.resolve), warehouse).then(projectEverything)
    await faster.finally(goOn.resolve)
    expect(Object.keys(await rowsOf(warehouse, 'hoodi'))).toContain('epochs')
    const rows = await dumpTables(warehouse)
    await projectEverything(await slower)
    expect(await dumpTables(warehouse)).toEqual(rows)
  })
})

describe('a batch that is on its way while its chain is removed', () => {
  const topics: readonly Topic[] = ['beacon.epochs', 'beacon.blocks', 'execution.blocks', 'validators']

  it.each(topics)(
    'leaves no rows of it behind, and those of the other chain (%s)',
    { timeout: TEST_MS },
    async (topic) => {
      const { warehouse } = stores()
      await using eventLog = await unread(both)
      const other = await openProcess(eventLog, warehouse)
      const late = await openProcess(
        eventLog,
        beforeInserts(warehouse, async () => {
          await remove(eventLog, 'hoodi')
          // Another process has read it, and dropped what there was.
          await project(other, projectorOf('log'), [])
          expect(await rowsOf(warehouse, 'hoodi')).toEqual({})
        }),
      )
      const batch = await Array.fromAsync(eventLog.read({ topic, signal: never }))
      await project(late, projectorOf(topic), batch)
      expect(await rowsOf(warehouse, 'hoodi')).toEqual({})
      const [table] = projectorOf(topic).tables
      expect((await rowsOf(warehouse, 'mainnet'))[table ?? '']?.length).toBeGreaterThan(0)
      await late.wanted.make()
      expect(await rowsOf(warehouse, 'hoodi')).toEqual({})
    },
  )

  it('keeps the rows of the chain that was added again before the batch was read', { timeout: TEST_MS }, async () => {
    const { warehouse } = stores()
    await using eventLog = await unread(hoodi)
    // Its facts are from before the removal.
    const process = await openProcess(eventLog, warehouse)
    await remove(eventLog, 'hoodi')
    await append(eventLog, again)
    const batch = await Array.fromAsync(eventLog.read({ topic: 'beacon.epochs', signal: never }))
    await project(process, projectorOf('beacon.epochs'), batch)
    expect((await rowsOf(warehouse, 'hoodi')).epochs?.length).toBeGreaterThan(0)
    await projectEverything(process)
    const rows = await dumpTables(warehouse)
    await rebuildFrom(eventLog, warehouse)
    expect(await dumpTables(warehouse)).toEqual(rows)
  })

  it('leaves no figures that a job derives from rows that are being dropped', { timeout: TEST_MS }, async () => {
    const { warehouse } = stores()
    await using eventLog = await projected('hoodi', hoodi)
    let isRemoved = false
    const late: Warehouse = {
      ...warehouse,
      async command(sql, params) {
        await warehouse.command(sql, params)
        if (isRemoved || !sql.includes('INSERT INTO daily_rewards')) return
        isRemoved = true
        await remove(eventLog, 'hoodi')
        await openProcess(eventLog, warehouse)
      },
    }
    await runDeriveDay(late, { chain: 'hoodi', day: parseDay(given.wholeDays[0] ?? '') ?? 0 })
    expect(isRemoved).toBe(true)
    expect(await rowsOf(warehouse, 'hoodi')).toEqual({})
  })
})

/** The log, which tells that a lease is asked for. */
function whenLeased(eventLog: EventLog, onLease: () => void): EventLog {
  return new Proxy(eventLog, {
    get(target, name) {
      if (name === 'lease') onLease()
      const found: unknown = Reflect.get(target, name, target)
      return typeof found === 'function' ? found.bind(target) : found
    },
  })
}

/** The warehouse, with something before all of its inserts of a chain's rows, of which several run at once. */
function beforeInserts(warehouse: Warehouse, before: () => Promise<void>): Warehouse {
  let done: Promise<void> | undefined
  return {
    ...warehouse,
    async insert(table, columns) {
      if (table !== 'dropped_chains') {
        done ??= before()
        await done
      }
      await warehouse.insert(table, columns)
    },
  }
}

it('does not hide what operators said of a chain, nor dead letters: those events still count', () => {
  for (const table of [...Object.keys(FAMILIES.accounts), 'dead_letters']) {
    expect(TABLES_OF_CHAINS).not.toContain(table)
  }
})

it('reads the facts that were added since, and tells the same object while nothing was', async () => {
  const { openLog } = stores()
  await using eventLog = await openLog()
  const { logId } = await openLogFacts(eventLog, 0, never)
  const seen: number[] = []
  const onRemovals = async ({ removed }: { readonly removed: ReadonlyMap<string, unknown> }) => {
    seen.push(removed.size)
  }
  const reader = await LogFactsReader.open({ eventLog, now: 0, signal: never, onRemovals })
  const { known } = reader
  expect(known.logId).toBe(logId)
  expect(await reader.current()).toBe(known)
  await openLogFacts(eventLog, 0, never)
  expect(await reader.current()).toBe(known)
  await remove(eventLog, 'hoodi')
  const [one, two] = await Promise.all([reader.current(), reader.current()])
  expect([...one.removed.keys()]).toEqual(['hoodi'])
  expect(two).toBe(one)
  expect(await reader.current()).toBe(one)
  expect(seen).toEqual([1])
})
