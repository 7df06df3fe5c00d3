import { parentPort, workerData } from 'node:worker_threads'
import { type ThreadAnswer, toFailure } from '../nodes/thread-answers.ts'
import type { ExecutionBlock } from '../ports/execution-source.ts'
import type { Log } from '../ports/log.ts'
import { openExecutionSource } from './source.ts'
import type { Question, ThreadStart, ToThread } from './thread-messages.ts'

// The thread that infra/execution/threaded-source.ts starts: it asks the nodes, and reads and checks their answers.

const port = parentPort
if (port === null) throw new Error('this file is the start of a thread')

const tell = (message: ThreadAnswer, transfer: readonly ArrayBuffer[] = []): void => port.postMessage(message, transfer)
const tellLog = (level: keyof Log) => (fields: object, message: string) => tell({ kind: 'log', level, fields, message })
const log: Log = { debug: tellLog('debug'), info: tellLog('info'), warn: tellLog('warn'), error: tellLog('error') }

const source = await openExecutionSource({
  ...(workerData as ThreadStart),
  log,
  onStatus: (status) => tell({ kind: 'status', status }),
})

port.on('message', (message: ToThread) => {
  if (message.kind === 'ask') void answer(message.id, message.question, message.args)
  else void source[Symbol.asyncDispose]().then(() => port.close())
})

async function answer(id: number, question: Question, args: readonly unknown[]): Promise<void> {
  try {
    // The arguments came from a method of the same name.
    const value = await (source[question] as (...values: readonly unknown[]) => Promise<unknown>)(...args)
    tell({ kind: 'answer', id, value }, isBlock(value) ? buffersOf(value) : [])
  } catch (error) {
    tell(toFailure(id, error))
  }
}

function isBlock(value: unknown): value is ExecutionBlock {
  return typeof value === 'object' && value !== null && 'columns' in value
}

/** Of a block's columns, which are made for the asker alone: they go over without a copy. */
function buffersOf({ columns, logs }: ExecutionBlock): readonly ArrayBuffer[] {
  const pieces: readonly unknown[] = [...Object.values(columns), ...Object.values(logs), logs.topics[0], logs.data[0]]
  return [...new Set(pieces.filter(ArrayBuffer.isView).map(({ buffer }) => buffer as ArrayBuffer))]
}
