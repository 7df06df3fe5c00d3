import { execFile } from 'node:child_process'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type GuardedFetchOptions, openGuardedFetch } from '../../infra/guarded-fetch/guarded-fetch.ts'
import type { Resolved } from '../../infra/guarded-fetch/resolve-name.ts'
import type { PublicRequest } from '../../infra/ports/public-fetch.ts'

const BYTES_MAX = 1_000
const NAME = 'hook.test' // which no name server knows

let server: Server
let port: number
/** What the server was asked, and what it answers. */
let asked: {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}[]
let reply: (response: ServerResponse, url: string) => void
let resolved: string[]

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const body = (await Array.fromAsync(request as AsyncIterable<Buffer>)).join('')
    asked.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
    reply(response, request.url ?? '')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  port = (server.address() as AddressInfo).port
})
beforeEach(() => {
  asked = []
  resolved = []
  reply = (response) => response.setHeader('content-type', 'text/plain').end('there')
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
})

const loopback: Resolved = { address: '127.0.0.1', family: 4 }

function get(url: string, change: Partial<PublicRequest> = {}, options: GuardedFetchOptions = {}) {
  const resolve = async (host: string) => {
    resolved.push(host)
    return [loopback]
  }
  const guarded = openGuardedFetch({ allowed: `${NAME}:${port}`, resolve, ...options })
  return guarded.fetch({ url, method: 'GET', bytesMax: BYTES_MAX, timeoutMs: 5_000, redirectsMax: 3, ...change })
}
const here = (path: string) => `http://${NAME}:${port}${path}`

const NOT_PUBLIC = {
  status: 'refused',
  kind: 'address',
  reason: 'it has an address that is not of the public internet',
}
const TOO_LONG = { status: 'refused', kind: 'size', reason: `the answer is longer than ${BYTES_MAX} bytes` }
const NOT_HTTPS = { status: 'refused', kind: 'url', reason: 'the scheme is not https' }

describe('a server that is not public', () => {
  test.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://①②⑦.0.0.1/',
    'https://0/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[fe80::1]/',
    'https://[fd00:ec2::254]/',
  ])('is not asked by its address: %s', async (url) => {
    expect(await get(url)).toEqual(NOT_PUBLIC)
    expect(resolved).toEqual([])
  })

  test.each(['localhost', 'LOCALHOST'])('is not asked by the name %s', async (host) => {
    const guarded = openGuardedFetch()
    const request = { method: 'GET', bytesMax: 1, timeoutMs: 5_000, redirectsMax: 0 } as const
    expect(await guarded.fetch({ ...request, url: `https://${host}:${port}/` })).toEqual(NOT_PUBLIC)
    expect(asked).toEqual([])
  })

  test.each<[string, readonly Resolved[]]>([
    ['one', [{ address: '10.0.0.1', family: 4 }]],
    ['one of two', [{ address: '1.1.1.1', family: 4 }, loopback]],
    [
      'one of two, of the other family',
      [
        { address: '1.1.1.1', family: 4 },
        { address: '::ffff:7f00:1', family: 6 },
      ],
    ],
  ])('is not asked by a name that has its address as %s', async (_, addresses) => {
    expect(await get(`https://public.test:${port}/`, {}, { resolve: async () => addresses })).toEqual(NOT_PUBLIC)
    expect(asked).toEqual([])
  })

  test('is not asked where it is sent on to it, at its address or by a name', async () => {
    for (const location of ['https://10.0.0.1/', `https://other.test:${port}/`, '//[::1]/']) {
      reply = (response) => response.writeHead(302, { location }).end()
      const answer = await get(here('/first'))
      expect(answer, location).toEqual(location.startsWith('//') ? NOT_HTTPS : NOT_PUBLIC)
    }
    expect(asked.map(({ url }) => url)).toEqual(['/first', '/first', '/first'])
  })
})

describe('the one server that is allowed', () => {
  test('is asked at the address that its name had, which is asked for once', async () => {
    const answer = await get(here('/a?b=c'), { method: 'POST', headers: { 'x-a': '1' }, body: Buffer.from('body') })
    expect(answer).toEqual({ status: 'answered', httpStatus: 200, type: 'text/plain', body: Buffer.from('there') })
    expect(asked).toMatchObject([
      { method: 'POST', url: '/a?b=c', body: 'body', headers: { 'x-a': '1', host: `${NAME}:${port}` } },
    ])
    expect(resolved).toEqual([NAME])
  })

  test('is that port of that name and no other', async () => {
    for (const url of [`http://${NAME}:${port + 1}/`, `http://sub.${NAME}:${port}/`, `http://127.0.0.1:${port}/`])
      expect(await get(url), url).toEqual(NOT_HTTPS)
    expect(asked).toEqual([])
  })

  test('sends a GET on, so often and not more often, and resolves its name each time', async () => {
    reply = (response, url) =>
      url === '/3' ? response.end('there') : response.writeHead(302, { location: `/${Number(url.slice(1)) + 1}` }).end()
    expect(await get(here('/0'))).toMatchObject({ status: 'answered', httpStatus: 200 })
    expect(resolved).toHaveLength(4)
    expect(await get(here('/0'), { redirectsMax: 2 })).toEqual({
      status: 'refused',
      kind: 'redirects',
      reason: 'it was sent on more than 2 times',
    })
  })

  test('does not send a POST on', async () => {
    reply = (response) => response.writeHead(307, { location: '/elsewhere' }).end()
    expect(await get(here('/'), { method: 'POST' })).toMatchObject({ status: 'answered', httpStatus: 307 })
    expect(asked).toHaveLength(1)
  })
})

describe('an answer', () => {
  test.each<[string, (response: ServerResponse) => void]>([
    ['as its length tells', (response) => response.end('x'.repeat(BYTES_MAX + 1))],
    [
      'as it comes',
      (response) => {
        response.write('x'.repeat(BYTES_MAX))
        response.end('x')
      },
    ],
  ])('that is too long is none, %s', async (_, answer) => {
    reply = answer
    expect(await get(here('/'))).toEqual(TOO_LONG)
    reply = (response) => response.end('x'.repeat(BYTES_MAX))
    expect(await get(here('/'))).toMatchObject({ status: 'answered' })
  })

  test('is not unpacked: nothing is asked to be packed', async () => {
    await get(here('/'))
    expect(asked[0]?.headers['accept-encoding']).toBe('identity')
  })

  const LATE = { status: 'failed', isLate: true, reason: 'no answer within 100 ms' }
  test.each<[string, (response: ServerResponse) => void]>([
    ['before its head', () => {}],
    ['after its head', (response) => response.write('x')],
  ])('that stops %s is given up in time', async (_, answer) => {
    reply = answer
    expect(await get(here('/'), { timeoutMs: 100 })).toEqual(LATE)
  })

  test('is given up in time where the name server does not answer', async () => {
    const resolve = () => new Promise<never>(() => {})
    expect(await get('https://silent.test/', { timeoutMs: 100 }, { resolve })).toEqual(LATE)
  })

  test.each<[string, (response: ServerResponse) => void, RegExp]>([
    ['a connection that breaks', (response) => response.socket?.destroy(), /\(ECONNRESET\)$/],
    [
      'a head without an end',
      (response) => response.setHeader('x-long', 'x'.repeat(20_000)).end(),
      /\(HPE_HEADER_OVERFLOW\)$/,
    ],
  ])('is told as failed after %s, without the address', async (_, answer, reason) => {
    reply = answer
    const failed = await get(here('/secret'))
    expect(failed).toMatchObject({ status: 'failed', reason: expect.stringMatching(reason) })
    expect(JSON.stringify(failed)).not.toMatch(/secret|hook|127/)
  })

  test('is none where the server changes the protocol, which nobody has asked for', async () => {
    const other = createTcpServer((socket) => {
      socket.on('error', () => {})
      const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'
      socket.once('data', () => socket.write(head))
    })
    await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening))
    const closed = new Promise((resolve) => other.once('connection', (socket) => socket.once('close', resolve)))
    const at = `${NAME}:${(other.address() as AddressInfo).port}`
    const reason = 'the server could not be asked (ECONNRESET)'
    expect(await get(`http://${at}/`, {}, { allowed: at })).toEqual({ status: 'failed', isLate: false, reason })
    await closed
    other.close()
  })

  test('is told as failed where the name has no address', async () => {
    const resolve = () =>
      Promise.reject(Object.assign(new Error('getaddrinfo ENOTFOUND secret'), { code: 'ENOTFOUND' }))
    expect(await get('https://secret.test/', {}, { resolve })).toEqual({
      status: 'failed',
      isLate: false,
      reason: 'the server could not be asked (ENOTFOUND)',
    })
  })
})

test.each([
  ['no URL', 'it is no URL'],
  ['https://user@a.test/', 'the URL has a user or a password in it'],
  ['https://:password@a.test/', 'the URL has a user or a password in it'],
  ['http://a.test/', 'the scheme is not https'],
  ['file:///etc/passwd', 'the scheme is not https'],
  ['data:text/plain,a', 'the scheme is not https'],
  [`https://a.test/${'a'.repeat(8_192)}`, 'the URL is longer than 8192 characters'],
])('%s is refused: %s', async (url, reason) => {
  expect(await get(url)).toEqual({ status: 'refused', kind: 'url', reason })
})

test('proxies of the environment are not used', async () => {
  const file = join(import.meta.dirname, '../../infra/guarded-fetch/guarded-fetch.ts')
  const script = `
    import { get } from 'node:http'
    import { openGuardedFetch } from ${JSON.stringify(file)}
    const url = 'http://127.0.0.1:${port}/direct'
    const guarded = openGuardedFetch({ allowed: '127.0.0.1:${port}' })
    const answer = await guarded.fetch({ url, method: 'GET', bytesMax: 100, timeoutMs: 5_000, redirectsMax: 0 })
    await new Promise((ended) => get('http://nowhere.test/by-proxy', (response) => response.resume().on('close', ended)).on('error', ended))
    console.log(answer.status)`
  const proxy = `http://127.0.0.1:${port}`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy, http_proxy: proxy, NO_PROXY: '', no_proxy: '' },
  })
  expect(stdout.trim()).toBe('answered')
  // A proxy is asked for whole addresses; the second question shows that this one was in force.
  expect(asked.map(({ url }) => url)).toEqual(['/direct', expect.stringMatching(/nowhere\.test/)])
})
