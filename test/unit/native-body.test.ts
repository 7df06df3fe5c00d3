import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bodyOf } from '../../api/gateway/forwarded.ts'

const server = createServer()
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

/** A request with these lines and bytes behind its head, all of which have come, and nobody has read. */
async function wholeRequest(lines: readonly string[], body: string): Promise<IncomingMessage> {
  const asked = once(server, 'request')
  const { port } = server.address() as AddressInfo
  connect(port, '127.0.0.1').write(['POST / HTTP/1.1', 'Host: localhost', ...lines, '', body].join('\r\n'))
  const [request] = (await asked) as [IncomingMessage]
  while (!request.complete) await turn()
  return request
}

test.each([
  ['in chunks', ['Transfer-Encoding: chunked'], '4\r\nbody\r\n0\r\n\r\n'],
  ['of a known length', ['Content-Length: 4'], 'body'],
])('a body %s that has come before its key was found is passed on', async (_how, lines, sent) => {
  let bytes = 0
  const onBytes = (more: number): void => {
    bytes += more
  }
  const body = bodyOf(await wholeRequest(lines, sent), { onBytes, onTooLarge() {} })
  expect(body).not.toBeNull()
  expect(await text(body as NodeJS.ReadableStream)).toBe('body')
  expect(bytes).toBe(4)
})

test.each([
  ['says nothing of a body', []],
  ['says that it is empty', ['Content-Length: 0']],
])('a request that %s has none', async (_what, lines) => {
  expect(bodyOf(await wholeRequest(lines, ''), { onBytes() {}, onTooLarge() {} })).toBeNull()
})
