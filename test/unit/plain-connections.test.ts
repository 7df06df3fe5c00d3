import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PlainConnections } from '../../api/gateway/plain/plain-connections.ts'
import type { PlainRequest } from '../../api/gateway/plain/plain-request.ts'
import type { PlainResponse } from '../../api/gateway/plain/plain-response.ts'

// A server on which `/plain` is answered before Node sees it, and all else by Node. Clients write bytes.

const SOON = { interval: 5 }

let server: Server
let connections: PlainConnections
/** Answers of plain requests: at once with what they ask, unless a test does it. */
let answer: (request: PlainRequest, response: PlainResponse) => void
const clients: Socket[] = []

beforeEach(async () => {
  server = createServer((request, response) => {
    request.on('end', () => {
      const body = `node ${request.url}`
      response.writeHead(200, ['content-type', 'text/plain', 'content-length', String(body.length)]).end(body)
    })
    request.resume()
  })
  server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\nupgraded'))
  answer = ({ url, body }, response) => tell(response, `${url} ${body}`)
  connections = new PlainConnections(server, (request, response) => {
    if (!request.url.startsWith('/plain')) return false
    answer(request, response)
    return true
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  server.close()
  server.closeAllConnections()
  connections.cut()
  await once(server, 'close')
})

function tell(response: PlainResponse, body: string): void {
  response.writeHead(200, ['content-type', 'text/plain', 'content-length', String(body.length)])
  response.end(body, 'latin1')
}

interface Client {
  readonly socket: Socket
  /** All that has come. */
  heard: string
  isClosed: boolean
}

async function openClient(): Promise<Client> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  clients.push(socket)
  const client: Client = { socket, heard: '', isClosed: false }
  socket.setEncoding('latin1').on('data', (text: string) => {
    client.heard += text
  })
  socket.on('close', () => {
    client.isClosed = true
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return client
}

const call = (path: string, body = '{}', ...lines: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, 'Host: a', `Content-Length: ${body.length}`, ...lines, '', body].join('\r\n')
/** Bodies of answers with lengths, in their order. */
const bodies = ({ heard }: Client): readonly string[] =>
  [...heard.matchAll(/content-length: (\d+)[\s\S]*?\r\n\r\n/g)].map((found) =>
    heard.slice(found.index + found[0].length, found.index + found[0].length + Number(found[1])),
  )
const untilBodies = (client: Client, ...expected: readonly string[]) =>
  expect.poll(() => bodies(client), SOON).toEqual(expected)

test('a connection has plain requests in turn, and is Node’s from the first other one on', async () => {
  const client = await openClient()
  client.socket.write(call('/plain/1'))
  await untilBodies(client, '/plain/1 {}')
  client.socket.write(call('/plain/2', 'two'))
  await untilBodies(client, '/plain/1 {}', '/plain/2 two')
  client.socket.write(call('/other'))
  await untilBodies(client, '/plain/1 {}', '/plain/2 two', 'node /other')
  client.socket.write(call('/plain/3'))
  await untilBodies(client, '/plain/1 {}', '/plain/2 two', 'node /other', 'node /plain/3')
  client.socket.write('GET /plain/4 HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')
  await expect.poll(() => client.heard, SOON).toContain('upgraded')
})

test('an answer has the bytes that Node’s has', async () => {
  const headOf = async (path: string): Promise<string> => {
    const client = await openClient()
    client.socket.write(call(path, 'xxxxxxxx'))
    await expect.poll(() => bodies(client), SOON).toHaveLength(1)
    return client.heard.split('\r\n\r\n', 1)[0] as string
  }
  answer = (_request, response) => tell(response, 'x'.repeat('node /other'.length))
  const [ours, nodes] = [await headOf('/plain'), await headOf('/other')]
  const withoutDate = (head: string) => head.replace(/Date: [^\r]+/, 'Date')
  expect(withoutDate(ours)).toBe(withoutDate(nodes))
  const toldMs = Date.parse(/Date: ([^\r]+)/.exec(ours)?.[1] ?? '')
  expect(Math.abs(toldMs - Date.now())).toBeLessThan(5_000)
})

test('requests that come at once, or before an answer is out, are answered in their order', async () => {
  const first = await openClient()
  first.socket.write(call('/plain/1') + call('/other/2') + call('/plain/3'))
  await untilBodies(first, 'node /plain/1', 'node /other/2', 'node /plain/3')
  const second = await openClient()
  let end = (): void => {}
  answer = (_request, response) => {
    end = () => tell(response, 'late')
  }
  second.socket.write(call('/plain/1'))
  await wait(20)
  for (const path of ['/plain/2', '/other/3']) {
    second.socket.write(call(path))
    await wait(20)
  }
  expect(second.heard).toBe('')
  end()
  await untilBodies(second, 'late', 'node /plain/2', 'node /other/3')
})

test('a request that comes in pieces is read whole, wherever it is cut', async () => {
  const text = call('/plain')
  for (let at = 1; at < text.length; at += 7) {
    const client = await openClient()
    client.socket.setNoDelay(true).write(text.slice(0, at))
    await wait(2)
    client.socket.write(text.slice(at))
    await expect.poll(() => bodies(client), SOON).toHaveLength(1)
    expect(bodies(client)[0], `cut at ${at}`).toMatch(/\/plain/)
  }
})

test('an answer whose length is not known comes in pieces that say where it ends', async () => {
  answer = (_request, response) => {
    response.writeHead(200, [])
    for (const part of ['one', '', 'seventeen letters', 'x'.repeat(70_000)]) response.write(Buffer.from(part))
    response.end()
  }
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/plain`, {
    method: 'POST',
    body: '{}',
  })
  expect(response.headers.get('transfer-encoding')).toBe('chunked')
  expect(await response.text()).toBe(`oneseventeen letters${'x'.repeat(70_000)}`)
})

test.each([204, 304])('an answer of %i has no body, and the next one follows it', async (status) => {
  answer = ({ url }, response) => {
    if (url === '/plain/1') response.writeHead(status, []).end()
    else tell(response, 'next')
  }
  const client = await openClient()
  client.socket.write(call('/plain/1'))
  await expect.poll(() => client.heard, SOON).toMatch(/\r\n\r\n$/)
  expect(client.heard).not.toContain('Transfer-Encoding')
  client.socket.write(call('/plain/2'))
  await untilBodies(client, 'next')
})

test('a header that would begin another line is not sent', async () => {
  const faults: unknown[] = []
  answer = (_request, response) => {
    for (const headers of [
      ['etag', 'a\r\nx: y'],
      ['e tag', 'a'],
      ['etag', 'a\0'],
    ])
      try {
        response.writeHead(200, headers)
      } catch (error) {
        faults.push(error)
      }
    tell(response, 'good')
  }
  const client = await openClient()
  client.socket.write(call('/plain'))
  await untilBodies(client, 'good')
  expect(faults).toHaveLength(3)
  expect(client.heard).not.toContain('x: y')
})

test('whoever does not read holds the answer back', async () => {
  let response: PlainResponse | undefined
  answer = (_request, one) => {
    response = one.writeHead(200, [])
  }
  const client = await openClient()
  client.socket.write(call('/plain'))
  await expect.poll(() => response, SOON).toBeDefined()
  client.socket.pause()
  const chunk = Buffer.alloc(256 * 1024, 'x')
  let isDrained = true
  // Until more is on its way than the system takes from who writes.
  for (let chunks = 0; isDrained; chunks++) {
    expect(chunks).toBeLessThan(200)
    isDrained = response?.write(chunk) === true
    response?.once('drain', () => {
      isDrained = true
    })
    await wait(50)
  }
  client.socket.resume()
  await expect.poll(() => isDrained, SOON).toBe(true)
})

test.each<[string, (client: Client) => void]>([
  ['leaves', ({ socket }) => socket.destroy()],
  ['says that it sends no more', ({ socket }) => socket.end()],
])('a client that %s ends what is done for it', async (_what, leave) => {
  let response: PlainResponse | undefined
  let closed = 0
  answer = (_request, one) => {
    response = one.once('close', () => closed++)
  }
  const client = await openClient()
  client.socket.write(call('/plain'))
  await expect.poll(() => response, SOON).toBeDefined()
  leave(client)
  await expect.poll(() => closed, SOON).toBe(1)
  expect(response?.destroyed).toBe(true)
  // Too late: nobody hears it, and nothing fails.
  if (response !== undefined) tell(response, 'late')
  await wait(20)
  expect([closed, client.heard]).toEqual([1, ''])
})

test('an answer that is out tells of its end once, and its connection is kept', async () => {
  const events: string[] = []
  answer = ({ url }, response) => {
    response.once('close', () => events.push(url))
    tell(response, url)
    events.push('told')
  }
  const client = await openClient()
  for (const path of ['/plain/1', '/plain/2']) {
    client.socket.write(call(path))
    await expect.poll(() => events, SOON).toContain(path)
  }
  expect(events).toEqual(['told', '/plain/1', 'told', '/plain/2'])
  expect(client.isClosed).toBe(false)
})

test('an answer that is cut ends its connection', async () => {
  answer = (_request, response) => {
    response.writeHead(200, ['content-length', '100'])
    response.write(Buffer.from('half'))
    setTimeout(() => response.destroy(), 20)
  }
  const client = await openClient()
  client.socket.write(call('/plain'))
  await expect.poll(() => client.isClosed, SOON).toBe(true)
  expect(client.heard).toMatch(/half$/)
})

test('a stop ends what is idle at once, and each other connection behind its answer', async () => {
  const [idle, busy, held] = [await openClient(), await openClient(), await openClient()]
  let end = (): void => {}
  answer = ({ url }, response) => {
    if (url === '/plain/held') end = () => tell(response, 'late')
    else tell(response, 'soon')
  }
  idle.socket.write(call('/plain'))
  busy.socket.write(call('/plain'))
  held.socket.write(call('/plain/held'))
  await untilBodies(idle, 'soon')
  await untilBodies(busy, 'soon')
  connections.stop()
  await expect.poll(() => [idle.isClosed, busy.isClosed, held.isClosed], SOON).toEqual([true, true, false])
  end()
  await untilBodies(held, 'late')
  await expect.poll(() => held.isClosed, SOON).toBe(true)
})

test('a kept connection that is not used is closed, later than its client is told', { timeout: 15_000 }, async () => {
  const client = await openClient()
  client.socket.write(call('/plain'))
  await untilBodies(client, '/plain {}')
  const beganMs = performance.now()
  await once(client.socket, 'close')
  const keptMs = performance.now() - beganMs
  expect(Number(/timeout=(\d+)/.exec(client.heard)?.[1])).toBe(5)
  expect(keptMs).toBeGreaterThan(5_000)
  expect(keptMs).toBeLessThan(9_000)
})
