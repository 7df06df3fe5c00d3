import { connect } from 'node:net'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { noJobs } from '../unit/no-jobs.ts'
import { type ApiFixture, MAINNET, NOW_MS, openApiFixture, TOKEN, WALL_MS } from './api-fixture.ts'

const TOTAL = '/api/v1/validator/total-rewards'
const PAGE = 'https://dashboard.example'

let fixture: ApiFixture
/** The same tables, asked from pages of one origin. */
let forPages: Api
beforeAll(async () => {
  fixture = await openApiFixture()
  forPages = await openApi({
    warehouse: fixture.warehouse,
    jobs: noJobs,
    unfundedRules: DEFAULT_UNFUNDED_RULES,
    chains: () => [MAINNET],
    corsOrigins: [PAGE],
    host: '127.0.0.1',
    port: 0,
    log: pino({ level: 'silent' }),
    now: () => NOW_MS,
    wallNow: () => WALL_MS,
    health: () => Promise.resolve(fixture.health),
    accountsKnown: async () => true,
    tablesWhole: async () => true,
  })
})
afterAll(async () => {
  await forPages[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

/** What the server sends for these lines, byte for byte: fetch sends headers of its own and unpacks what is compressed. */
async function send(api: Api, lines: readonly string[]): Promise<{ head: string; body: Buffer }> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  socket.write(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`)
  const pieces: Buffer[] = []
  for await (const piece of socket) pieces.push(piece as Buffer)
  const all = Buffer.concat(pieces)
  const end = all.indexOf('\r\n\r\n')
  return { head: all.subarray(0, end).toString('latin1').toLowerCase(), body: all.subarray(end + 4) }
}

function joinChunks(body: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.subarray(at, end).toString('latin1'), 16)
    if (!(size > 0)) return Buffer.concat(pieces)
    pieces.push(body.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}

describe('compression', () => {
  test.each([
    ['gzip', 'gzip', gunzipSync],
    ['zstd', 'zstd', zstdDecompressSync],
    ['gzip, deflate, br, zstd', 'zstd', zstdDecompressSync],
    ['*', 'gzip', gunzipSync],
    ['gzip;q=0.5, *;q=0', 'gzip', gunzipSync],
    ['zstd, gzip;q=0, *', 'zstd', zstdDecompressSync],
  ])('answers a client that accepts %s in %s', async (accepted, encoding, unpack) => {
    const lines = ['GET /openapi.json HTTP/1.1', 'Host: x', `Accept-Encoding: ${accepted}`]
    const { head, body } = await send(fixture.api, lines)
    expect(head).toContain(`content-encoding: ${encoding}`)
    expect(head).toMatch(/vary: .*accept-encoding/)
    const bytes = head.includes('transfer-encoding: chunked') ? joinChunks(body) : body
    expect(JSON.parse(unpack(bytes).toString())).toMatchObject({ openapi: '3.1.0' })
  })

  test.each(['identity', 'compress', 'gzip;q=0', 'gzip;q=0, *', '*, X-GZIP;q=0', '*;q=0.5,gzip ; q=0'])(
    'leaves an answer as it is for %s',
    async (accepted) => {
      const path = `/ethereum/mainnet/${TOKEN}${TOTAL}?limit=1000`
      const { head, body } = await send(fixture.api, [
        `GET ${path} HTTP/1.1`,
        'Host: x',
        `Accept-Encoding: ${accepted}`,
      ])
      expect(head).not.toContain('content-encoding')
      expect(JSON.parse(body.toString())).toMatchObject({ code: '200' })
    },
  )

  test('compresses an answer of the API to the same figures', async () => {
    const path = `/ethereum/mainnet/${TOKEN}${TOTAL}?limit=1000`
    const plain = await send(fixture.api, [`GET ${path} HTTP/1.1`, 'Host: x'])
    const packed = await send(fixture.api, [`GET ${path} HTTP/1.1`, 'Host: x', 'Accept-Encoding: gzip'])
    expect(packed.head).toContain('content-encoding: gzip')
    const bytes = packed.head.includes('transfer-encoding: chunked') ? joinChunks(packed.body) : packed.body
    expect(gunzipSync(bytes)).toEqual(plain.body)
  })
})

test('whoever would sign up where there are no accounts is told so, and the operator what they take', async () => {
  for (const [method, path] of [
    ['POST', 'sign-up'],
    ['GET', 'me'],
  ] as const) {
    const response = await fetch(`${fixture.api.url}/account/v1/${path}`, { method })
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({
      code: '404',
      msg: expect.stringMatching(/^Path Not Found: nobody can sign up or log in here: .*`mail` in epochline\.yaml/),
      data: null,
      reason: 'no_accounts',
    })
  }
})

describe('pages of other origins', () => {
  test('may ask when their origin is configured, also of refusals', async () => {
    for (const token of [TOKEN, 'unknown']) {
      const response = await fetch(`${forPages.url}/ethereum/mainnet/${token}${TOTAL}`, { headers: { origin: PAGE } })
      expect(response.headers.get('access-control-allow-origin'), token).toBe(PAGE)
      expect(response.headers.get('vary'), token).toContain('Origin')
      // Among others when to come back, and what is left of a limit.
      expect(response.headers.get('access-control-expose-headers'), token).toBe('*')
    }
  })

  test.each([
    ['that nobody can decode', '/%zz'],
    ['that is in no encoding', `/nft/eth_mainnet/%ff/changes`],
    ['that is too long', `/ethereum/mainnet/${'x'.repeat(300)}${TOTAL}`],
    ['that is not there', '/nowhere'],
  ])('read that there is nothing at a path %s', async (_, path) => {
    const own = await fetch(`${forPages.url}${path}`, { headers: { origin: PAGE } })
    expect(own.status).toBe(404)
    const names = ['access-control-allow-origin', 'access-control-expose-headers', 'vary']
    expect(names.map((name) => own.headers.get(name))).toEqual([PAGE, '*', 'Origin'])
    const other = await fetch(`${forPages.url}${path}`, { headers: { origin: 'https://elsewhere.example' } })
    expect(names.map((name) => other.headers.get(name))).toEqual([null, '*', 'Origin'])
  })

  test('are answered before they ask', async () => {
    const response = await fetch(`${forPages.url}/ethereum/mainnet/${TOKEN}/graphql`, {
      method: 'OPTIONS',
      headers: {
        origin: PAGE,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe(PAGE)
    expect(response.headers.get('access-control-allow-methods')).toContain('POST')
    expect(response.headers.get('access-control-allow-headers')).toBe('content-type')
  })

  test('may not ask when theirs is not, or when none is', async () => {
    const other = await fetch(`${forPages.url}/health`, { headers: { origin: 'https://elsewhere.example' } })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
    const none = await fetch(`${fixture.api.url}/health`, { headers: { origin: PAGE } })
    expect(none.headers.get('access-control-allow-origin')).toBeNull()
    const preflight = await fetch(`${fixture.api.url}/health`, { method: 'OPTIONS', headers: { origin: PAGE } })
    expect(preflight.status).toBe(404)
    expect(await preflight.json()).toEqual({ code: '404', msg: 'Path Not Found', data: null })
  })
})

describe('requests that HTTP itself finds wrong', () => {
  test.each([
    ['no Host header', ['GET /health HTTP/1.1']],
    ['a line that is no request', ['nonsense']],
    ['two lengths', ['POST /health HTTP/1.1', 'Host: x', 'Content-Length: 1', 'Content-Length: 2']],
    ['an expectation that nobody meets', ['GET /health HTTP/1.1', 'Host: x', 'Expect: wonders']],
    ['headers that are too large', ['GET /health HTTP/1.1', 'Host: x', `X-Long: ${'x'.repeat(70_000)}`]],
  ])('are answered with the envelope: %s', async (_, lines) => {
    const { head, body } = await send(fixture.api, lines)
    expect(head).toMatch(/^http\/1\.1 400 /)
    expect(head).toContain('content-type: application/json')
    expect(JSON.parse(body.toString())).toMatchObject({ code: '400', msg: expect.stringMatching(/^Param error/) })
  })

  test('are not those of HTTP/1.0, which has no Host', async () => {
    const { head } = await send(fixture.api, ['GET /health HTTP/1.0'])
    expect(head).toMatch(/^http\/1\.1 200 /)
  })
})

test('a browser that opens GraphQL gets a page that asks the same address and loads nothing from elsewhere', async () => {
  const url = `${fixture.base}/graphql`
  const response = await fetch(url, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const page = await response.text()
  expect(page).toContain('<title>epochline</title>')
  expect(page).not.toMatch(/<(script|link)[^>]*(src|href)="?https?:/)
  expect(page).not.toContain(TOKEN)
  const unknown = await fetch(url.replace(TOKEN, 'unknown'), { headers: { accept: 'text/html' } })
  expect(unknown.status).toBe(401)
  const query = await fetch(`${url}?query={newestEpoch}`, { headers: { accept: 'text/html' } })
  expect(await query.json()).toMatchObject({ data: { newestEpoch: 451 } })
})
