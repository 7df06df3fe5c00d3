import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type ClientConnection, openStatementPool } from '../../infra/warehouse/statement-pool.ts'

/** Connections of an engine that the test lets fail; each runs its statements until they are killed or resolved. */
class Engine {
  readonly opened: string[] = []
  readonly closed: string[] = []
  /** Name of the connection and text of each statement, without those that name a connection. */
  readonly ran: [connection: string, statement: string][] = []
  failsToOpen = false
  roomFor = Number.POSITIVE_INFINITY
  #hanging: (() => void)[] = []

  readonly open = async (): Promise<ClientConnection> => {
    if (this.failsToOpen || this.opened.length >= this.roomFor) throw new Error('no room for another connection')
    const name = `connection ${this.opened.length}`
    this.opened.push(name)
    const run = async ({ query }: { readonly query: string }) => {
      if (!query.startsWith('SET log_comment')) this.ran.push([name, query])
      if (query.startsWith('KILL')) for (const end of this.#hanging.splice(0)) end()
      if (query === 'FAIL') throw new Error('failed')
      if (query === 'HANG') {
        await new Promise<void>((resolve) => this.#hanging.push(resolve))
        throw new Error('killed')
      }
      return {}
    }
    const close = async () => void this.closed.push(name)
    return { command: run, close } as Partial<ClientConnection> as ClientConnection
  }
}

const run = (pool: Awaited<ReturnType<typeof openStatementPool>>, query: string, abort_signal?: AbortSignal) =>
  pool.run({ query, ...(abort_signal === undefined ? {} : { abort_signal }) }, (connection, bound) =>
    connection.command(bound),
  )

test('a statement is ended when a connection for that can be opened only later, and its own is free then', async () => {
  const engine = new Engine()
  const pool = await openStatementPool(engine.open, 1)
  const gone = new AbortController()
  const hanging = run(pool, 'HANG', gone.signal)
  hanging.catch(() => {})
  while (engine.ran.length === 0) await turn()
  engine.failsToOpen = true
  gone.abort(new Error('gone'))
  await turn()
  engine.failsToOpen = false
  await expect(hanging).rejects.toThrow('killed')
  await run(pool, 'NEXT')
  expect(engine.ran.at(-1)?.[1]).toBe('NEXT')
  await pool.close()
  expect(engine.closed.toSorted()).toEqual(engine.opened.toSorted())
})

test('a connection on which a statement has failed is never used again, also when no other can be opened at once', async () => {
  const engine = new Engine()
  const pool = await openStatementPool(engine.open, 1)
  engine.failsToOpen = true
  await expect(run(pool, 'FAIL')).rejects.toThrow('failed')
  await expect(run(pool, 'NEXT')).rejects.toThrow('no room')
  engine.failsToOpen = false
  await run(pool, 'NEXT')
  expect(engine.ran).toEqual([
    ['connection 0', 'FAIL'],
    ['connection 1', 'NEXT'],
  ])
  await pool.close()
  expect(engine.closed).toEqual(['connection 0', 'connection 1'])
})

test('leaves no connection open when one of them cannot be opened', async () => {
  const engine = new Engine()
  engine.roomFor = 2
  await expect(openStatementPool(engine.open, 3)).rejects.toThrow('no room')
  expect(engine.closed).toEqual(engine.opened)
})
