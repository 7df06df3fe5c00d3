import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { ConsumeOptions, EventLog, ReadOptions, StoredEvent } from '../../infra/ports/event-log.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { type LogPlace, openLogAt } from './event-log-place.ts'

/** An empty place for one log, which goes with the test. */
export interface TestPlace extends AsyncDisposable {
  readonly where: LogPlace
}

export const TOPIC: Topic = 'beacon.blocks'
export const never = new AbortController().signal

export async function openAt(place: TestPlace): Promise<EventLog> {
  const log = await openLogAt(place.where)
  onTestFinished(() => log[Symbol.asyncDispose]())
  return log
}

export const TIME = '2026-01-01T00:00:00.000Z'

export function event(id: string, key: string, text = ''): EncodedEvent {
  return { id, type: 'test', version: 1, key, time: TIME, data: new TextEncoder().encode(text) }
}

export function texts(stored: readonly StoredEvent[]): string[] {
  return stored.map(({ event }) => new TextDecoder().decode(event.data))
}

export function byKey(stored: readonly StoredEvent[]): Map<string, StoredEvent[]> {
  return Map.groupBy(stored, ({ event }) => event.key)
}

export function isAscending(values: readonly (number | bigint)[]): boolean {
  return values.every((value, i) => i === 0 || value > (values[i - 1] ?? value))
}

export interface TestConsumer {
  readonly group: string
  readonly topic?: Topic
  readonly maxBatch?: number
  readonly lingerMs?: ConsumeOptions['lingerMs']
  readonly onBatch?: (batch: readonly StoredEvent[]) => void
}

export function consumeOptions({
  group,
  topic = TOPIC,
  maxBatch = 100,
  lingerMs = () => 0,
}: TestConsumer): Omit<ConsumeOptions, 'signal' | 'handle'> {
  return { topic, group, maxBatch, lingerMs }
}

/** Consumes in the background; `received(n)` resolves when n events have come. */
export function startConsumer(log: EventLog, options: TestConsumer) {
  const controller = new AbortController()
  const events: StoredEvent[] = []
  const waiting: { count: number; resolve: () => void; reject: (error: unknown) => void }[] = []
  const ended = log.consume({
    ...consumeOptions(options),
    signal: controller.signal,
    async handle(batch) {
      options.onBatch?.(batch)
      // The memory of its data is gone behind the batch.
      for (const { event, ...place } of batch) events.push({ ...place, event: { ...event, data: event.data.slice() } })
      for (const { count, resolve } of waiting) if (events.length >= count) resolve()
    },
  })
  ended.catch((error) => {
    for (const { reject } of waiting) reject(error)
  })
  return {
    events,
    ended,
    received(count: number): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      waiting.push({ count, resolve, reject })
      if (events.length >= count) resolve()
      return promise
    },
    stop(): Promise<void> {
      controller.abort()
      return ended
    },
  }
}

export async function consumeCount(
  log: EventLog,
  options: TestConsumer,
  count: number,
): Promise<readonly StoredEvent[]> {
  const consumer = startConsumer(log, options)
  await consumer.received(count)
  await consumer.stop()
  return consumer.events
}

export async function readAll(log: EventLog, options: Partial<ReadOptions> = {}): Promise<StoredEvent[]> {
  return Array.fromAsync(log.read({ topic: TOPIC, signal: never, ...options }))
}

/** Resolves when the group has finished everything; the test's time limit ends a wait in vain. */
export async function lagGone(log: EventLog, group: string, topic: Topic = TOPIC): Promise<void> {
  while ((await log.lag(topic, group)) > 0n) await delay(20)
}

export interface TestProcess {
  readonly pid: number
  readonly child: ChildProcessByStdio<Writable, Readable, null>
  /** The next line that it prints. */
  line(): Promise<string>
  /** Everything that it goes on to print until it ends. */
  lines(): Promise<string[]>
}

/** Starts a script of this folder; it is killed when the test ends. */
export function startProcess(script: string, args: readonly string[]): TestProcess {
  const child = spawn(
    process.execPath,
    ['--disable-warning=TimeoutNegativeWarning', join(import.meta.dirname, script), ...args],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    pid: child.pid ?? 0,
    child,
    async line() {
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`${script} has ended`)
      return value
    },
    lines: () => Array.fromAsync({ [Symbol.asyncIterator]: () => lines }),
  }
}
