import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { withServer } from './test-servers.ts'
import { CONTRACT_ROWS_MAX, warehouseContract } from './warehouse.ts'

const ROUNDS_OF_LOST_CLIENTS = 100

// The address is `http://user:password@host:port`; the user may create and drop databases.
withServer('clickhouse', (address) => {
  const url = new URL(address)
  const server = {
    url: url.origin,
    ...(url.username === '' ? {} : { user: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
  }
  const database = `contract_${process.pid}_${Date.now()}`

  warehouseContract('warehouse over HTTP', async () => {
    const warehouse = await openWarehouse(server, { database, rowsMax: CONTRACT_ROWS_MAX })
    return {
      ...warehouse,
      async [Symbol.asyncDispose]() {
        await warehouse.command(`DROP DATABASE IF EXISTS ${database}`)
        await warehouse[Symbol.asyncDispose]()
      },
    }
  })

  describe('the HTTP connection', () => {
    test('sends compressed bodies and asks for compressed answers', async () => {
      const seen: IncomingHttpHeaders[] = []
      const proxy = createServer((request, response) => {
        seen.push(request.headers)
        const { host: _, connection: __, 'transfer-encoding': ___, ...headers } = request.headers
        const body: Buffer[] = []
        request.on('data', (chunk: Buffer) => body.push(chunk))
        request.on('end', async () => {
          const answer = await fetch(new URL(request.url ?? '/', server.url), {
            method: request.method ?? 'POST',
            headers: headers as Record<string, string>,
            body: new Uint8Array(Buffer.concat(body)),
          })
          response.writeHead(answer.status, { 'x-answer-encoding': String(answer.headers.get('content-encoding')) })
          seen.push(Object.fromEntries(answer.headers))
          response.end(Buffer.from(await answer.arrayBuffer()))
        })
      })
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
      const { port } = proxy.address() as AddressInfo
      try {
        const { user, password } = { user: 'default', password: '', ...server }
        await using warehouse = await openWarehouse(
          { url: `http://127.0.0.1:${port}`, user, password },
          { database: `${database}_c` },
        )
        await warehouse.command('CREATE TABLE IF NOT EXISTS compressed (a UInt32) ENGINE = MergeTree ORDER BY a')
        await warehouse.insert('compressed', { a: Uint32Array.of(1, 2) })
        expect(await warehouse.query('SELECT sum(a) AS total FROM compressed')).toEqual([{ total: '3' }])
        await warehouse.command(`DROP DATABASE ${database}_c`)
      } finally {
        proxy.close()
      }
      expect(
        seen.some((headers) => headers['content-encoding'] === 'gzip' && headers['user-agent'] !== undefined),
      ).toBe(true)
      expect(seen.some((headers) => headers['accept-encoding'] === 'gzip')).toBe(true)
      expect(
        seen.some(
          (headers) => headers['x-clickhouse-query-id'] !== undefined && headers['content-encoding'] === 'gzip',
        ),
      ).toBe(true)
    })

    test('a client that goes amid its answer leaves nothing of it to the next one', async () => {
      const { user, password } = { user: 'default', password: '', ...server }
      const headers = { 'x-clickhouse-user': user, 'x-clickhouse-key': password }
      const ask = (body: string, init: RequestInit = {}) =>
        fetch(server.url, { method: 'POST', headers, body, ...init })
      for (let round = 0; round < ROUNDS_OF_LOST_CLIENTS; round++) {
        const asked = [0, 1, 2].map(async (client) => {
          const signal = AbortSignal.timeout(1 + ((round * 7 + client * 13) % 60))
          await (await ask('SELECT number, repeat(toString(number), 50) FROM numbers(200000)', { signal })).text()
        })
        await Promise.allSettled(asked)
        const next = await ask(`SELECT ${round}`)
        expect([next.status, await next.text()]).toEqual([200, `${round}\n`])
      }
    })

    test('calls a refused connection retryable and does not tell the address', async () => {
      const error = await openWarehouse({ url: 'http://127.0.0.1:1', password: 'hidden' }).catch((e: unknown) => e)
      expect(error).toMatchObject({ code: 'warehouse', retryable: true })
      expect(String(error)).not.toMatch(/127\.0\.0\.1|hidden/)
    })

    test('calls a connection that breaks off retryable', async () => {
      const broken = createTcpServer((socket) => socket.once('data', () => socket.destroy()))
      await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve))
      const { port } = broken.address() as AddressInfo
      try {
        const error = await openWarehouse({ url: `http://127.0.0.1:${port}` }).catch((e: unknown) => e)
        expect(error).toMatchObject({ code: 'warehouse', retryable: true })
      } finally {
        broken.close()
      }
    })

    test('does not call a wrong password retryable', async () => {
      const error = await openWarehouse({ url: server.url, user: 'nobody', password: 'wrong' }).catch((e: unknown) => e)
      expect(error).toMatchObject({ code: 'warehouse', retryable: false })
      expect(String(error)).toMatch(/\(516\)/)
    })
  })
})
