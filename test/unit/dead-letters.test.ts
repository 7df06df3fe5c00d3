import { describe, expect, it } from 'vitest'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { type Projecting, project } from '../../processors/loop/consume.ts'
import { DeadLetters } from '../../processors/loop/dead-letters.ts'
import { PROJECTORS, runProjections } from '../../processors/projections.ts'
import { AppError } from '../../schemas/errors.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { lagGone } from '../contract/event-log-helpers.ts'
import { givenChain } from './given-chain.ts'
import { projectEverything, projecting, rebuildFrom } from './projecting.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 60_000
const never = new AbortController().signal
const stores = storesOfFile()
const { events } = givenChain()
const [event] = (events.get('beacon.epochs') ?? []) as [EncodedEvent]
const data = new TextEncoder().encode('what somebody else has written')
const unreadable: EncodedEvent = { ...event, data }

const lettersIn = (eventLog: EventLog): Promise<readonly StoredEvent[]> =>
  Array.fromAsync(eventLog.read({ topic: 'dead-letters', signal: never }))

const rows = () =>
  stores().warehouse.query<Record<string, unknown>>(
    'SELECT topic, event_id, event_type, is_resolved FROM dead_letters FINAL ORDER BY topic, event_id',
  )

/** Every projection at work until each has read its topic; each batch comes again as after a crash. */
async function processAll(ports: Projecting): Promise<void> {
  const stop = new AbortController()
  const running = runProjections(ports, stop.signal)
  const read = Promise.all(PROJECTORS.map(({ group, topic }) => lagGone(ports.eventLog, group, topic)))
  await Promise.race([running, read])
  // What was set aside meanwhile is one more event of the dead letters.
  await Promise.race([running, lagGone(ports.eventLog, 'dead-letters', 'dead-letters')])
  stop.abort()
  await running
}

describe('an event that cannot be processed', () => {
  it.each(PROJECTORS.map(({ topic }) => topic))(
    'is set aside once where %s has a message of somebody else',
    {
      timeout: TEST_MS,
    },
    async (topic) => {
      const { warehouse, openLog, empty } = stores()
      await empty()
      await using eventLog = await openLog()
      const ports = await projecting(eventLog, warehouse)
      const foreign = { id: '', type: '', version: 0, key: '', time: '', data }
      const [position] = await eventLog.append(topic, [foreign])
      await processAll(ports)
      for (const projector of PROJECTORS) await eventLog.rewind(projector.topic, projector.group)
      await processAll({ ...ports, deadLetters: await DeadLetters.open(eventLog) })
      const own = (await lettersIn(eventLog)).filter(({ event: { type } }) => type === 'dead-letter')
      expect(own).toHaveLength(1)
      expect(await rows()).toEqual([
        { topic, event_id: `${topic}/0/${position?.offset}`, event_type: '', is_resolved: 0 },
      ])
    },
  )

  it.each([
    ['no id', { id: '' }],
    ['no time', { time: '' }],
    ['a time that never was', { time: '2026-13-45T99:99:99.999Z' }],
    ['data that is none of its type', { data }],
  ])('is set aside once when it has %s', { timeout: TEST_MS }, async (_, change) => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog(new Map([['beacon.epochs', [{ ...event, ...change }]]]))
    await processAll(await projecting(eventLog, warehouse))
    expect(await lettersIn(eventLog)).toHaveLength(1)
    expect(await rows()).toMatchObject([{ topic: 'beacon.epochs', event_type: event.type, is_resolved: 0 }])
  })
})

describe('a dead letter is resolved', () => {
  const wholeWith = (first: EncodedEvent): ReadonlyMap<Topic, readonly EncodedEvent[]> =>
    new Map([...events, ['beacon.epochs', [first, ...(events.get('beacon.epochs') ?? []).slice(1)]]])

  it('when a later event of its id is processed, and is open again when a still later one is not', {
    timeout: TEST_MS,
  }, async () => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog(wholeWith(unreadable))
    const ports = await projecting(eventLog, warehouse)
    await projectEverything(ports)
    expect(await rows()).toMatchObject([{ event_id: event.id, is_resolved: 0 }])
    await eventLog.append('beacon.epochs', [event])
    await processAll(await projecting(eventLog, warehouse))
    expect(await rows()).toMatchObject([{ event_id: event.id, is_resolved: 1 }])
    expect((await DeadLetters.open(eventLog)).unresolved).toEqual([])
    await eventLog.append('beacon.epochs', [unreadable])
    await processAll(await projecting(eventLog, warehouse))
    expect(await rows()).toMatchObject([{ event_id: event.id, is_resolved: 0 }])
    expect((await DeadLetters.open(eventLog)).unresolved).toMatchObject([{ eventId: event.id }])
  })

  it('not by an earlier event of its id, which a replay processes again', { timeout: TEST_MS }, async () => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog(events)
    await eventLog.append('beacon.epochs', [unreadable])
    await rebuildFrom(eventLog, warehouse)
    await rebuildFrom(eventLog, warehouse)
    expect(await rows()).toMatchObject([{ event_id: event.id, is_resolved: 0 }])
  })

  /** What an older release has set aside, and this one can read; with the live tables of then. */
  async function setAsideBefore(eventLog: EventLog, warehouse: Warehouse): Promise<void> {
    const ports = await projecting(eventLog, warehouse)
    const older = await DeadLetters.open(eventLog)
    const [stored] = await Array.fromAsync(eventLog.read({ topic: 'beacon.epochs', signal: never }))
    if (stored === undefined) throw new Error('the log has epochs')
    const letter = { group: 'finalized', topic: 'beacon.epochs', stored, reason: 'found v2', unnamedChain: '' } as const
    await older.add(letter)
    const [projector] = PROJECTORS.filter(({ topic }) => topic === 'dead-letters')
    if (projector === undefined) throw new Error('nobody projects dead letters')
    await project(ports, projector, await lettersIn(eventLog))
    expect(await rows()).toMatchObject([{ event_id: event.id, is_resolved: 0 }])
  }

  it('by a rebuild of a release that can read it', { timeout: TEST_MS }, async () => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog(events)
    await setAsideBefore(eventLog, warehouse)
    await rebuildFrom(eventLog, warehouse)
    expect(await rows()).toMatchObject([{ event_id: event.id, is_resolved: 1 }])
    expect((await DeadLetters.open(eventLog)).unresolved).toEqual([])
  })

  it('not by a rebuild whose tables never become the live ones', { timeout: TEST_MS }, async () => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog(events)
    await setAsideBefore(eventLog, warehouse)
    const dying: Warehouse = {
      ...warehouse,
      async command(sql, params) {
        if (sql.includes('REPLACE PARTITION')) throw new AppError('warehouse', 'killed')
        await warehouse.command(sql, params)
      },
    }
    await expect(rebuildFrom(eventLog, dying)).rejects.toThrow('killed')
    expect((await DeadLetters.open(eventLog)).unresolved).toMatchObject([{ eventId: event.id }])
  })
})
