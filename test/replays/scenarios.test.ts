import { describe, expect, it } from 'vitest'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { type Projector, project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { proveSettlements } from '../../processors/verify/prove-settlements.ts'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { tries } from '../long-form.ts'
import { epochOfEvent } from '../unit/changed-events.ts'
import { emptyTables } from '../unit/filled-tables.ts'
import { dumpTables, projecting, rebuildFrom } from '../unit/projecting.ts'
import { randomOf } from '../unit/random-of.ts'
import { chain, finalized, rebuiltTablesOfFile, trackedFrom, withEpochs } from '../unit/rebuilt-tables.ts'

const TEST_MS = 60_000
const never = new AbortController().signal
const { stores, warehouse, whole, wholeRows, totals } = rebuiltTablesOfFile()

it('is rebuilt to the end although the warehouse is away for a moment', { timeout: TEST_MS }, async () => {
  await whole()
  const expected = await dumpTables(warehouse())
  let failures = 1
  const failingOnce = (one: Warehouse): Warehouse => ({
    database: one.database,
    beside: async (database) => failingOnce(await one.beside(database)),
    query: (sql, params) => one.query(sql, params),
    queryWords: (sql, params) => one.queryWords(sql, params),
    command: (sql, params) => one.command(sql, params),
    merge: (table, partitionId, signal) => one.merge(table, partitionId, signal),
    async insert(table, columns) {
      if (table === 'execution_blocks' && failures-- > 0) throw new AppError('warehouse', 'away', { retryable: true })
      await one.insert(table, columns)
    },
    [Symbol.asyncDispose]: () => (one === warehouse() ? Promise.resolve() : one[Symbol.asyncDispose]()),
  })
  await using eventLog = await stores().openLog(chain.events)
  await rebuildFrom(eventLog, failingOnce(warehouse()))
  expect(await dumpTables(warehouse())).toEqual(expected)
  expect(failures).toBeLessThan(1)
})

it('does not set an event aside again when the log is replayed', { timeout: TEST_MS }, async () => {
  const [event] = chain.events.get('beacon.epochs') ?? []
  await using eventLog = await stores().openLog(withEpochs([{ ...(event as EncodedEvent), id: 'broken', version: 99 }]))
  const letters = async () => (await Array.fromAsync(eventLog.read({ topic: 'dead-letters', signal: never }))).length
  const rows: unknown[] = []
  for (const _ of [1, 2, 3]) {
    await rebuildFrom(eventLog, warehouse())
    expect(await letters()).toBe(1)
    rows.push(await warehouse().query('SELECT * FROM dead_letters FINAL'))
  }
  expect(rows[1]).toEqual(rows[0])
  expect(rows[2]).toEqual(rows[0])
})

/** Partitions of a topic. */
const PARTITIONS = 8

/** Each rebuilds once and projects a log in some hundred batches. */
const SCENARIOS = Array.from({ length: tries(1, 40) }, (_, at) => at + 1)

describe.each(SCENARIOS)('scenario %i of late tracking, backfills, repetitions and interleaving', (seed) => {
  it('ends in the tables of a rebuild, with figures that are those of the whole chain', {
    timeout: TEST_MS,
  }, async () => {
    const random = randomOf(seed)
    await whole()
    const truthOf = new Map((await wholeRows()).map((row) => [`${row.day}/${row.validator_index}`, row]))

    const since = Array.from({ length: 5 }, () => (random(3) === 0 ? 0 : random(20)))
    const epochs = [...trackedFrom(since)]
    for (let runs = random(3); runs > 0; runs--) {
      const from = random(18)
      const to = from + random(8)
      epochs.push(...finalized((event) => event).filter((e) => epochOfEvent(e, 4) >= from && epochOfEvent(e, 4) <= to))
    }
    const execution = [...(chain.events.get('execution.blocks') ?? [])]
    for (let copies = random(20); copies > 0; copies--) execution.push(execution[random(60)] as EncodedEvent)
    await using eventLog = await stores().openLog(new Map([...withEpochs(epochs), ['execution.blocks', execution]]))
    const ports = await projecting(eventLog, warehouse())
    await rebuildFrom(eventLog, warehouse())
    const expected = await dumpTables(warehouse())

    await emptyTables(warehouse())
    // Only events of one partition keep their order, and events of one key are in one.
    const queues: { readonly projector: Projector; readonly left: StoredEvent[] }[] = []
    for (const projector of PROJECTORS) {
      const stored = await Array.fromAsync(eventLog.read({ topic: projector.topic, signal: never }))
      const partitions = new Map<string, number>()
      const partitionOf = ({ event: { key } }: StoredEvent): number => {
        if (!partitions.has(key)) partitions.set(key, random(PARTITIONS))
        return partitions.get(key) ?? 0
      }
      for (const left of Map.groupBy(stored, partitionOf).values()) queues.push({ projector, left })
    }
    for (;;) {
      const open = queues.filter(({ left }) => left.length > 0)
      const next = open[random(open.length)]
      if (next === undefined) break
      const batch = next.left.splice(0, 1 + random(16))
      await project(ports, next.projector, batch)
      if (random(4) === 0) await project(ports, next.projector, batch)
      if (random(6) === 0) await ports.wanted.make()
    }
    await ports.wanted.make()
    expect(await dumpTables(warehouse())).toEqual(expected)

    for (const row of await wholeRows()) {
      expect(row, JSON.stringify({ since, row })).toEqual(truthOf.get(`${row.day}/${row.validator_index}`))
    }
    expect(await proveSettlements(warehouse())).toMatchObject({ checked: chain.settledBlocks, wrong: 0 })
    // Which epochs of open days are there says nothing of figures.
    const figures = async () => ({ ...(await totals()), openDays: undefined })
    const closed = await figures()
    await warehouse().command('TRUNCATE TABLE closed_days')
    expect(await figures()).toEqual(closed)
  })
})
