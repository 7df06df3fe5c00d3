import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { proveDays } from '../../processors/verify/prove-days.ts'
import { proveEpochs } from '../../processors/verify/prove-epochs.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { emptyTables } from '../unit/filled-tables.ts'
import { GIVEN_CHAIN, type GivenChain, givenChain, TAMPERED_GWEI } from '../unit/given-chain.ts'
import { dumpTables as dump, projecting, rebuildFrom } from '../unit/projecting.ts'

/** Minutes and seconds, process, method, calls, billed. */
const USAGE = [
  ['30:00', 'a', 'method_0', 4, 3],
  ['30:00', 'b', 'method_0', 5, 5],
  ['30:00', 'a', 'method_1', 1, 0],
  ['30:00', 'b', 'method_1', 7, 7],
  ['31:00', 'a', 'method_0', 8, 7],
]

describe('the projection of a log', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-projection-'))
  const chain: GivenChain = givenChain()
  let eventLog: EventLog
  let warehouse: Warehouse
  let first: Record<string, unknown[]>

  let ports: Awaited<ReturnType<typeof projecting>>
  const never = new AbortController().signal
  /** Batches of 1 event, 2, and so on up to this, and again. */
  const BATCH_SIZES = 7

  beforeAll(async () => {
    eventLog = await openSqliteEventLog({ file: join(directory, 'log.sqlite') })
    warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
    await migrate(warehouse, await readMigrations())
    for (const [topic, events] of chain.events) await eventLog.append(topic, events)
    ports = await projecting(eventLog, warehouse)
    await rebuildFrom(eventLog, warehouse)
    first = await dump(warehouse, { versions: true })
  })

  afterAll(async () => {
    await warehouse[Symbol.asyncDispose]()
    await eventLog[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true })
  })

  it('closes exactly the days that are whole, and explains every balance of them', async () => {
    expect(first.closed_days?.map((row) => (row as { day: string }).day)).toEqual(chain.wholeDays)
    const proofs = (await Array.fromAsync(proveDays(warehouse))).flat()
    expect(proofs.length).toBe(chain.wholeDays.length * chain.validators)
    for (const proof of proofs) expect(proof, JSON.stringify(proof)).toMatchObject({ residual: '0', stored_agrees: 1 })
    expect(await proveEpochs(warehouse)).toMatchObject({ unexplained: 0, examples: [] })
  })

  it('gives the rewards that went into the events', async () => {
    const rows = await warehouse.query<{ day: string; cl: string; el: string }>(
      'SELECT day, toString(sum(cl_reward_gwei)) AS cl, toString(sum(el_reward_wei)) AS el FROM daily_rewards FINAL GROUP BY day ORDER BY day',
    )
    expect(rows).toEqual(chain.dailySums)
  })

  it('settles each proposed block once, at the rate of its time', () => {
    expect(first.settlements).toHaveLength(chain.settledBlocks)
    const rates = new Set(first.settlements?.map((row) => (row as { fee_rate: string }).fee_rate))
    expect([...rates].sort()).toEqual(['0.1', '0.25'])
  })

  it('has of a minute what each process told last of it', () => {
    const rows = first.usage_minutes as {
      minute: string
      writer: string
      method: string
      calls: number
      billed: number
    }[]
    expect(rows.map((row) => [row.minute.slice(14), row.writer[0], row.method, row.calls, row.billed])).toEqual(USAGE)
  })

  it('is equal row for row after a rebuild, and after another', async () => {
    for (const _ of [1, 2]) {
      await rebuildFrom(eventLog, warehouse)
      expect(await dump(warehouse, { versions: true })).toEqual(first)
    }
  })

  it('does not change when every batch is delivered twice', async () => {
    for (const projector of PROJECTORS) {
      const all = await Array.fromAsync(eventLog.read({ topic: projector.topic, signal: never }))
      await project(ports, projector, all)
      await project(ports, projector, all)
    }
    await ports.wanted.make()
    expect(await dump(warehouse, { versions: true })).toEqual(first)
  })

  it('does not depend on the order in which topics are processed, nor on the size of batches', {
    timeout: 60_000,
  }, async () => {
    await emptyTables(warehouse)
    for (const projector of [...PROJECTORS].reverse()) {
      const all = await Array.fromAsync(eventLog.read({ topic: projector.topic, signal: never }))
      for (let at = 0, size = 1; at < all.length; at += size, size = (size % BATCH_SIZES) + 1) {
        await project(ports, projector, all.slice(at, at + size))
      }
      await ports.wanted.make()
    }
    expect(await dump(warehouse, { versions: true })).toEqual(first)
  })

  it('is the same, but for versions, when every event was appended twice', async () => {
    await using twice = await openSqliteEventLog({ file: join(directory, 'twice.sqlite') })
    for (const [topic, events] of chain.events) {
      await twice.append(topic, events)
      await twice.append(topic, events)
    }
    await rebuildFrom(twice, warehouse)
    expect(await dump(warehouse, { versions: false })).toEqual(withoutVersions(first))
  })

  it('sees a wrong reward: the day’s residual and the epoch are named', async () => {
    const [event] = chain.events.get('beacon.epochs')?.filter((e) => e.id === chain.tampered.id) ?? []
    expect(event).toBeDefined()
    const projector = PROJECTORS.find((p) => p.topic === 'beacon.epochs')
    const stored: StoredEvent = { position: { partition: 0, offset: 1_000_000n }, event: chain.tampered }
    if (projector === undefined) throw new Error('no projector of the finalized stream')
    await project(ports, projector, [stored])
    await ports.wanted.make()
    const proofs = (await Array.fromAsync(proveDays(warehouse))).flat().filter((proof) => proof.residual !== '0')
    expect(proofs.map((proof) => proof.residual)).toEqual([`${-TAMPERED_GWEI}`])
    expect((await proveEpochs(warehouse)).examples).toEqual([
      {
        chain: GIVEN_CHAIN,
        epoch: chain.tamperedEpoch,
        validator_index: proofs[0]?.validator_index,
        residual: `${-TAMPERED_GWEI}`,
      },
    ])
  })

  it('sets an undecodable event aside with its reason and goes on', async () => {
    const broken: EncodedEvent = {
      ...(chain.events.get('beacon.epochs')?.[0] as EncodedEvent),
      id: 'broken',
      version: 99,
    }
    await eventLog.append('beacon.epochs' satisfies Topic, [broken])
    await rebuildFrom(eventLog, warehouse)
    const { dead_letters: letters, ...rest } = await dump(warehouse, { versions: true })
    expect(letters).toMatchObject([
      { event_id: 'broken', consumer_group: 'finalized', reason: expect.stringMatching(/v99/) },
    ])
    const { dead_letters: _, ...before } = first
    expect(rest).toEqual(before)
  })
})

function withoutVersions(tables: Record<string, unknown[]>): Record<string, unknown[]> {
  return Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [
      table,
      rows.map((row) => {
        const { version: _, ...rest } = row as { version: unknown }
        return rest
      }),
    ]),
  )
}
