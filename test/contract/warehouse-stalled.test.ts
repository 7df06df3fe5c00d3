import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../infra/warehouse/open.ts'

/** A server that begins each answer, but for the one whether the database is there, and does not end it; it tells of each that it has begun. */
async function openStalled(piece: string) {
  const begun = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    let sql = ''
    for await (const bytes of request) sql += String(bytes)
    if (sql.includes('system.databases')) return response.end('{"1":1}\n')
    response.write(piece, () => setTimeout(begun.resolve, 50))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const warehouse = await openWarehouse({ url: `http://127.0.0.1:${port}` })
  onTestFinished(() => warehouse[Symbol.asyncDispose]())
  return { warehouse, begun: begun.promise }
}

test.each(['query', 'queryWords'] as const)('%s ends with its signal while a server’s answer is read', async (how) => {
  const { warehouse, begun } = await openStalled('{"a":1}\n')
  const gone = new AbortController()
  const asked = warehouse[how]('SELECT 1 AS a', {}, { signal: gone.signal })
  const refused = expect(asked).rejects.toThrow('nobody waits')
  await begun
  gone.abort(new Error('nobody waits'))
  await refused
})
