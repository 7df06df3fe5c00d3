import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AnswerHandler, UpstreamRequest } from '../../infra/ports/upstreams.ts'
import { HttpUpstream } from '../../infra/upstreams/http-upstream.ts'
import { isLong } from '../long-form.ts'

// An upstream before a node that says nothing until it is told to, but for its status where that is asked.

const SOON = { interval: 10, timeout: 10_000 }
/** More than there are connections for plain calls. */
const MANY = 300
/** Bytes that only undici sends, as it does all where a node has TLS. */
const NOT_ASCII = ['x-name', 'é']

let node: Server
let upstream: HttpUpstream
let got: string[]
beforeEach(async () => {
  got = []
  node = createServer((request, response) => {
    got.push(request.url ?? '')
    if (request.url === '/events') response.writeHead(200).flushHeaders()
    else if (request.url === '/status') response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(node, 'listening')
  const { port } = node.address() as AddressInfo
  upstream = new HttpUpstream({ url: `http://127.0.0.1:${port}`, headers: {}, weight: 1 }, 'secret')
})
afterEach(async () => {
  await upstream[Symbol.asyncDispose]()
  node.closeAllConnections()
  node.close()
})

function ask(request: Partial<UpstreamRequest>, at = upstream): { end: string | undefined } {
  const asked: { end: string | undefined } = { end: undefined }
  const handler: AnswerHandler = {
    onHeaders: () => {},
    onData: () => {},
    onEnd: () => {
      asked.end = 'whole'
      return true
    },
    onFault: (fault) => {
      asked.end = fault
    },
  }
  at.send({ verb: 'GET', path: '/status', headers: NOT_ASCII, body: null, isEndless: false, ...request }, handler)
  return asked
}

/** A body whose end does not come. */
function begun(): PassThrough {
  const body = new PassThrough()
  body.write('{')
  return body
}

test.each<[string, Partial<UpstreamRequest>]>([
  ['answers without end', { path: '/events', isEndless: true }],
  ['bodies that do not come', { verb: 'POST', path: '/slow' }],
])('%s keep no connection that other calls need', async (_what, request) => {
  const isPost = request.verb === 'POST'
  for (let i = 0; i < MANY; i++) ask({ ...request, body: isPost ? begun() : null })
  await expect.poll(() => got.length, SOON).toBeGreaterThanOrEqual(isPost ? 256 : MANY)
  const asked = ask({})
  await expect.poll(() => asked.end, SOON).toBe('whole')
})

test.runIf(isLong)(
  'what no connection is free for in time was seen by no node',
  async () => {
    for (let i = 0; i < 256; i++) ask({ path: '/silent' })
    await expect.poll(() => got.length, SOON).toBe(256)
    const asked = ask({ path: '/late' })
    await expect.poll(() => asked.end, { interval: 100, timeout: 20_000 }).toBe('unreached')
    expect(got).not.toContain('/late')
  },
  40_000,
)

describe.each<[string, Partial<UpstreamRequest>]>([
  ['plainly', { headers: [] }],
  ['by undici', {}],
  ['with a body as a stream', { verb: 'POST', body: null }],
  ['for an answer without end', { isEndless: true }],
])('asked %s, a node', (_how, request) => {
  const closed: string[] = []
  const begin = (head: string) => {
    closed.length = 0
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.on('close', () => closed.push('closed'))
      socket.once('data', () => socket.write(head))
    })
    return server.listen(0, '127.0.0.1')
  }
  const askAt = async (server: ReturnType<typeof begin>) => {
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const other = new HttpUpstream({ url: `http://127.0.0.1:${port}`, headers: {}, weight: 1 }, 'secret')
    return { other, asked: ask(request.verb === 'POST' ? { ...request, body: begun() } : request, other) }
  }

  test.each<[string, string]>([
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'],
    ['another protocol without its name', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ])('that tells %s has no answer, and its connection is gone', async (_what, head) => {
    const server = begin(head)
    const { other, asked } = await askAt(server)
    await expect.poll(() => asked.end, SOON).toBe('lost')
    await expect.poll(() => closed, SOON).toEqual(['closed'])
    expect(other.inFlight).toBe(0)
    await other[Symbol.asyncDispose]()
    server.close()
  })

  test('may tell of what is coming before it answers', async () => {
    const before = ['102 Processing', '103 Early Hints']
      .map((hint) => `HTTP/1.1 ${hint}\r\nLink: </a>\r\n\r\n`)
      .join('')
    const server = begin(`${before}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}`)
    const { other, asked } = await askAt(server)
    await expect.poll(() => asked.end, SOON).toBe('whole')
    await other[Symbol.asyncDispose]()
    server.close()
  })
})
