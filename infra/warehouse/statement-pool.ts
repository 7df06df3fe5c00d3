import { setTimeout as wait } from 'node:timers/promises'
import type { ClickHouseClientConfigOptions } from '@clickhouse/client'
import { AppError } from '../../schemas/errors.ts'
import type { QueryParams } from '../ports/warehouse.ts'
import { createLane } from './lane.ts'
import { toAssignments, toParameterAssignments } from './statement-settings.ts'
import { hasSeveralStatements } from './statements.ts'

/** What `createClient({ connection })` takes: the client does not export the type's name. */
export type ClientConnection = NonNullable<ClickHouseClientConfigOptions['connection']>

/** A statement as the client hands it to a connection. */
interface Statement {
  readonly query: string
  readonly query_params?: Record<string, unknown>
  readonly clickhouse_settings?: object
  readonly abort_signal?: AbortSignal
}

/** Engine connections that share one queue. */
export interface StatementPool {
  /** Runs a statement on the next connection that is free; `call` gets it with settings and parameters in its text. */
  run<Params extends Statement, Result>(
    params: Params,
    call: (connection: ClientConnection, bound: Params) => Promise<Result>,
  ): Promise<Result>
  /** Resolves when all that runs or waits has ended. */
  close(): Promise<void>
}

/** Between attempts to end a statement: it may not have begun when it is told to. */
const KILL_AGAIN_MS = 50

/** An abort without a reason makes an error with a stack, at every statement. */
const ENDED = 'ended'

type OpenConnection = () => Promise<ClientConnection>

/** So many connections of `open` to the engine of this process, and one more when the first statement has to be ended. */
export async function openStatementPool(open: OpenConnection, size: number): Promise<StatementPool> {
  const connections = await openAll(open, size)
  let killer: Promise<StatementConnection> | undefined
  const free = [...connections]
  const waiting = new Set<(connection: StatementConnection) => void>()
  const running = new Set<Promise<unknown>>()
  let closed = false

  function acquire(signal: AbortSignal | undefined): Promise<StatementConnection> {
    const connection = free.pop()
    if (connection !== undefined) return Promise.resolve(connection)
    const { promise, resolve, reject } = Promise.withResolvers<StatementConnection>()
    const give = (given: StatementConnection): void => {
      signal?.removeEventListener('abort', leave)
      resolve(given)
    }
    const leave = (): void => {
      waiting.delete(give)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', leave, { once: true })
    waiting.add(give)
    return promise
  }

  function release(connection: StatementConnection): void {
    const [next] = waiting
    if (next === undefined) free.push(connection)
    else {
      waiting.delete(next)
      next(connection)
    }
  }

  function openKiller(): Promise<StatementConnection> {
    if (killer !== undefined) return killer
    const opening = openStatementConnection(open)
    killer = opening
    opening.catch(() => {
      if (killer === opening) killer = undefined
    })
    return opening
  }

  async function runOn<Params extends Statement, Result>(
    params: Params,
    call: (connection: ClientConnection, bound: Params) => Promise<Result>,
  ): Promise<Result> {
    if (hasSeveralStatements(params.query)) {
      throw new Error('Code: 62. DB::Exception: Syntax error (Multi-statements are not allowed). (SYNTAX_ERROR)')
    }
    const { abort_signal: signal, ...kept } = params
    signal?.throwIfAborted()
    const connection = await acquire(signal)
    const ended = new AbortController()
    let killing: Promise<void> | undefined
    const kill = (): void => {
      killing = endStatement(openKiller, connection.tag, ended.signal)
    }
    signal?.addEventListener('abort', kill, { once: true })
    try {
      signal?.throwIfAborted()
      return await connection.run(kept as Params, call)
    } finally {
      signal?.removeEventListener('abort', kill)
      ended.abort(ENDED)
      // What arrives late must not end the next statement of this connection.
      await killing
      release(connection)
    }
  }

  return {
    run(params, call) {
      if (closed) return Promise.reject(new AppError('usage', 'The warehouse is closed.'))
      const result = runOn(params, call)
      const settled = result.catch(() => {}).finally(() => running.delete(settled))
      running.add(settled)
      return result
    },
    async close() {
      closed = true
      await Promise.all(running)
      await Promise.all(connections.map((connection) => connection.close()))
      await (await killer?.catch(() => undefined))?.close()
    },
  }
}

async function openAll(open: OpenConnection, size: number): Promise<readonly StatementConnection[]> {
  const opened = await Promise.allSettled(Array.from({ length: size }, () => openStatementConnection(open)))
  const connections = opened.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const failed = opened.find((outcome) => outcome.status === 'rejected')
  if (failed === undefined) return connections
  await Promise.all(connections.map((connection) => connection.close()))
  throw failed.reason
}

/** Tells the engine to end what runs on a connection, until it has ended. Never rejects: telling it is tried again. */
async function endStatement(by: () => Promise<StatementConnection>, tag: string, ended: AbortSignal): Promise<void> {
  const query = `KILL QUERY WHERE Settings['log_comment'] = '${tag}' ASYNC`
  while (!ended.aborted) {
    try {
      const killer = await by()
      await killer.run({ query }, (connection, bound) => connection.command(bound))
    } catch {
      // The statement ends by itself at the latest.
    }
    await wait(KILL_AGAIN_MS, undefined, { signal: ended }).catch(() => {})
  }
}

interface StatementConnection {
  /** What the engine's list of running statements names this connection's by. */
  readonly tag: string
  run: StatementPool['run']
  close(): Promise<void>
}

let connectionsOpened = 0

async function openStatementConnection(openConnection: OpenConnection): Promise<StatementConnection> {
  const tag = `connection ${++connectionsOpened}`
  const lane = createLane()
  let connection: ClientConnection | undefined = await open()
  // Settings stay with an engine connection.
  let settings = ''

  async function open(): Promise<ClientConnection> {
    const opened = await openConnection()
    try {
      await opened.command({ query: `SET log_comment = '${tag}'` })
      return opened
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  return {
    tag,
    run: (params, call) =>
      lane(async () => {
        connection ??= await open()
        const wanted = toAssignments({ ...params.clickhouse_settings }).join(', ')
        // The client passes on what the port's caller has given.
        const bound = toParameterAssignments(params.query, (params.query_params ?? {}) as QueryParams)
        const assignments = wanted === settings ? bound : [wanted, ...bound].filter((some) => some !== '')
        const query = assignments.length === 0 ? params.query : `SET ${assignments.join(', ')}; ${params.query}`
        try {
          const result = await call(connection, { ...params, query, query_params: {}, clickhouse_settings: {} })
          settings = wanted
          return result
        } catch (error) {
          // What a failed statement had produced so far would be handed out in front of the next one's result: that one gets
          // another connection.
          const failed = connection
          connection = undefined
          settings = ''
          await failed.close()
          throw error
        }
      }),
    close: () => lane(async () => connection?.close()),
  }
}
