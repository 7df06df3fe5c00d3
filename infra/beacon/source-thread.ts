import { parentPort, workerData } from 'node:worker_threads'
import { toFailure } from '../nodes/thread-answers.ts'
import type { Log } from '../ports/log.ts'
import { openHttpBeaconSource } from './http-source.ts'
import type { FinalQuestion, FromThread, KeptSet, ThreadStart, ToThread } from './thread-messages.ts'

// The thread that infra/beacon/source.ts starts: it asks the nodes and reads their answers.

/** Their columns are made for the asker alone, so they go over without a copy. */
const WIDE: ReadonlySet<FinalQuestion> = new Set([
  ...(['validators', 'balances', 'attestationRewards', 'syncRewards'] as const),
  ...(['explainedEpoch', 'registered'] as const),
])

const port = parentPort
if (port === null) throw new Error('this file is the start of a thread')
const start = workerData as ThreadStart

let untold: FromThread[] = []
let untoldBuffers: ArrayBuffer[] = []

/** What is told in one turn of the event loop goes over together: each message wakes the other thread. */
function tell(message: FromThread, transfer: readonly ArrayBuffer[] = []): void {
  if (untold.length === 0) setImmediate(flush)
  untold.push(message)
  untoldBuffers.push(...transfer)
}

function flush(): void {
  const [messages, buffers] = [untold, untoldBuffers]
  untold = []
  untoldBuffers = []
  if (messages.length > 0) port?.postMessage(messages, buffers)
}

const tellLog = (level: keyof Log) => (fields: object, message: string) => tell({ kind: 'log', level, fields, message })
const log: Log = { debug: tellLog('debug'), info: tellLog('info'), warn: tellLog('warn'), error: tellLog('error') }

const source = await openHttpBeaconSource({ ...start, log, onStatus: (status) => tell({ kind: 'status', status }) })
const sets = new Map<number, Uint32Array>()
const watches = new Map<number, AbortController>()

port.on('message', (messages: readonly ToThread[]) => messages.forEach(hear))

function hear(message: ToThread): void {
  switch (message.kind) {
    case 'ask':
      void answer(message.id, () => ask(source, message.question, message.args), false)
      return
    case 'ask final': {
      const { id, checkpoint, question, args } = message
      void answer(id, () => ask(source.finalChain(checkpoint), question, args), WIDE.has(question))
      return
    }
    case 'keep':
      sets.set(message.set, message.validators)
      return
    case 'forget':
      sets.delete(message.set)
      return
    case 'watch':
      void answer(message.id, () => watch(message.id), false)
      return
    case 'unwatch':
      watches.get(message.id)?.abort()
      return
    case 'close':
      for (const stop of watches.values()) stop.abort()
      void close()
  }
}

async function close(): Promise<void> {
  await source[Symbol.asyncDispose]()
  flush()
  port?.close()
}

/** The arguments came from a method of the same name. */
function ask<Asked extends object>(asked: Asked, question: keyof Asked, args: readonly unknown[]): Promise<unknown> {
  const method = asked[question] as (...values: readonly unknown[]) => Promise<unknown>
  return method.apply(
    asked,
    args.map((value) => (isKeptSet(value) ? sets.get(value.set) : value)),
  )
}

function isKeptSet(value: unknown): value is KeptSet {
  return typeof value === 'object' && value !== null && 'set' in value
}

async function watch(id: number): Promise<void> {
  const stop = new AbortController()
  watches.set(id, stop)
  try {
    await source.watch((news) => tell({ kind: 'news', id, news }), stop.signal)
  } finally {
    watches.delete(id)
  }
}

async function answer(id: number, work: () => Promise<unknown>, isWide: boolean): Promise<void> {
  try {
    const value = await work()
    tell({ kind: 'answer', id, value }, isWide && value !== undefined ? buffersOf(value as object) : [])
  } catch (error) {
    tell(toFailure(id, error))
  }
}

/** Memory of all columns of an answer, however deep they stand in it. */
function buffersOf(answer: object): readonly ArrayBuffer[] {
  const found = new Set<ArrayBuffer>()
  const find = (value: unknown): void => {
    if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer)
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(find)
  }
  find(answer)
  return [...found]
}
