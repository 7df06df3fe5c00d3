import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { eventLogContract } from './event-log.ts'
import { event, type TestPlace } from './event-log-helpers.ts'
import { leaseContract } from './event-log-lease.ts'

async function newDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'epochline-event-log-'))
}

async function newPlace(): Promise<TestPlace> {
  const directory = await newDirectory()
  return {
    where: { kind: 'sqlite', file: join(directory, 'events.db') },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}

eventLogContract('SQLite', newPlace)
leaseContract('SQLite', newPlace, { replacesStoppedHolder: false })

test('SQLite: what append has returned survives a kill -9 in the middle of the next append', async () => {
  const directory = await newDirectory()
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'events.db')
  const child = spawnAppender(file, 'victim', 100_000)
  let acknowledged = -1
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged = Number(line)
    if (acknowledged >= 500) child.kill('SIGKILL')
  }
  await using log = await openSqliteEventLog({ file })
  const kept = await Array.fromAsync(log.read({ topic: 'beacon.blocks', signal: new AbortController().signal }))
  expect(kept.length).toBeGreaterThan(acknowledged)
  expect(kept.map(({ event }) => event.id)).toEqual(kept.map((_, i) => `victim-${i}`))
})

test('SQLite: asks how long events are to wait after a batch, with the time that the batch took', async () => {
  const directory = await newDirectory()
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  await using log = await openSqliteEventLog({ file: join(directory, 'events.db') })
  await log.append('beacon.blocks', [event('only', 'k')])
  const stop = new AbortController()
  const told: number[] = []
  let tookMs = 0
  await log.consume({
    topic: 'beacon.blocks',
    group: 'g',
    maxBatch: 10,
    signal: stop.signal,
    lingerMs(handledMs) {
      told.push(handledMs)
      stop.abort()
      return 60_000 // an abort ends the wait
    },
    async handle() {
      const begin = performance.now()
      await sleep(20)
      tookMs = performance.now() - begin
    },
  })
  expect(told).toHaveLength(1)
  expect(told[0]).toBeGreaterThanOrEqual(tookMs)
})

test('SQLite: what a consumer is given is on the disk, all that there is at once, and what is there already is not put there again', async () => {
  const directory = await newDirectory()
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const did: string[] = []
  const toDisk = async (file: string) => void did.push(`${basename(file)} on the disk`)
  await using log = await openSqliteEventLog({ file: join(directory, 'events.db'), toDisk })
  const consume = async (topic: Topic, group: string, until: string) => {
    const stop = new AbortController()
    const handle = async (batch: readonly StoredEvent[]) => {
      for (const { event } of batch) did.push(`${group} has ${event.id}`)
      if (batch.some(({ event }) => event.id === until)) stop.abort()
    }
    await log.consume({ topic, group, maxBatch: 2, signal: stop.signal, handle })
  }
  await log.append('beacon.blocks', [event('a', 'k'), event('b', 'k'), event('c', 'k')])
  await consume('beacon.blocks', 'one', 'c')
  await consume('beacon.blocks', 'other', 'c')
  await log.append('beacon.blocks', [event('d', 'k')])
  await consume('beacon.blocks', 'one', 'd')
  // On the disk since it was appended.
  await log.append('accounts', [event('e', 'k')])
  await consume('accounts', 'one', 'e')
  const disk = 'events.db-wal on the disk'
  expect(did).toEqual([
    ...[disk, 'one has a', 'one has b', 'one has c', 'other has a', 'other has b', 'other has c'],
    ...[disk, 'one has d', 'one has e'],
  ])
})

test('SQLite: the memory of large events is gone behind their batch, and their bytes come whole to the next group', async () => {
  const directory = await newDirectory()
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  await using log = await openSqliteEventLog({ file: join(directory, 'events.db') })
  const data = new Uint8Array(300_000).fill(7)
  await log.append('beacon.blocks', [
    { ...event('large', 'k'), data },
    { ...event('small', 'k'), data: Uint8Array.of(1, 2) },
  ])
  const given: StoredEvent[] = []
  const consume = async (group: string) => {
    const stop = new AbortController()
    const sums: number[] = []
    const handle = async (batch: readonly StoredEvent[]) => {
      given.push(...batch)
      sums.push(...batch.map(({ event }) => event.data.reduce((sum, byte) => sum + byte, 0)))
      stop.abort()
    }
    await log.consume({ topic: 'beacon.blocks', group, maxBatch: 10, signal: stop.signal, handle })
    return sums
  }
  const first = await consume('one')
  expect(first).toEqual([7 * 300_000, 3])
  expect(await consume('other')).toEqual(first)
  expect(given.map(({ event }) => event.data.length > 0)).toEqual([false, true, false, true])
  expect(data.length).toBe(300_000)
})

test('SQLite: the memory of large events is gone behind them where they are read one by one, and stays where they are not', async () => {
  const directory = await newDirectory()
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  await using log = await openSqliteEventLog({ file: join(directory, 'events.db') })
  await log.append(
    'beacon.blocks',
    ['a', 'b', 'c'].map((letter) => event(letter, 'k', letter.repeat(40_000))),
  )
  const read = { topic: 'beacon.blocks', signal: new AbortController().signal } as const
  const bytesOf = (events: readonly StoredEvent[]) => events.map(({ event }) => event.data.length)
  expect(bytesOf(await Array.fromAsync(log.read(read)))).toEqual([40_000, 40_000, 40_000])
  expect(bytesOf(await Array.fromAsync(log.read({ ...read, oneByOne: true })))).toEqual([0, 0, 0])
})

test('SQLite: a log whose journal is no longer there is read all the same', async () => {
  const directory = await newDirectory()
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'events.db')
  {
    await using log = await openSqliteEventLog({ file })
    await log.append('beacon.blocks', [event('a', 'k')])
  }
  expect(existsSync(`${file}-wal`)).toBe(false)
  await using log = await openSqliteEventLog({ file })
  const stop = new AbortController()
  const ids: string[] = []
  const handle = async (batch: readonly StoredEvent[]) => {
    ids.push(...batch.map(({ event }) => event.id))
    stop.abort()
  }
  await log.consume({ topic: 'beacon.blocks', group: 'g', maxBatch: 10, signal: stop.signal, handle })
  expect(ids).toEqual(['a'])
})

test('SQLite: several processes append to one log without losing or mixing anything', async () => {
  const directory = await newDirectory()
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'events.db')
  await using log = await openSqliteEventLog({ file })
  const children = ['one', 'two'].map((name) => spawnAppender(file, name, 300))
  for (let i = 0; i < 300; i++) await log.append('beacon.blocks', [event(`here-${i}`, 'here')])
  for (const child of children) {
    child.stdout.resume()
    if (child.exitCode === null) await once(child, 'exit')
    expect(child.exitCode).toBe(0)
  }
  const kept = await Array.fromAsync(log.read({ topic: 'beacon.blocks', signal: new AbortController().signal }))
  expect(kept.map(({ position }) => position.offset)).toEqual(kept.map((_, i) => BigInt(i)))
  for (const name of ['one', 'two', 'here']) {
    const ids = kept.map(({ event }) => event.id).filter((id) => id.startsWith(`${name}-`))
    expect(ids, name).toEqual(Array.from({ length: 300 }, (_, i) => `${name}-${i}`))
  }
})

test('SQLite: a compacted topic does not grow with the number of appends', async () => {
  const directory = await newDirectory()
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  await using log = await openSqliteEventLog({ file: join(directory, 'events.db') })
  for (let i = 0; i < 50; i++) await log.append('ingest.cursors', [event(`${i}`, 'beacon'), event(`${i}`, 'execution')])
  const kept = await Array.fromAsync(log.read({ topic: 'ingest.cursors', signal: new AbortController().signal }))
  expect(kept.map(({ event }) => event.id)).toEqual(['49', '49'])
})

function spawnAppender(file: string, name: string, count: number) {
  const script = join(import.meta.dirname, 'append-events.ts')
  return spawn(process.execPath, [script, file, name, String(count)], { stdio: ['ignore', 'pipe', 'inherit'] })
}
