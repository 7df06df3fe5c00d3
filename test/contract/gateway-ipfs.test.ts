import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TOKEN } from './given-api.ts'
import { type GivenGateway, networkOn, openGivenGateway, openStub, type Stub, untilHealthy } from './given-gateway.ts'

// Content that anybody may have put there, behind an address of ours.

const PLACE = 'ipfs/pub'
const open = new AsyncDisposableStack()
let node: Stub
let gateway: GivenGateway
beforeAll(async () => {
  node = open.use(await openStub('ipfs', 'pub'))
  gateway = open.use(await openGivenGateway([networkOn(PLACE, node)]))
  await untilHealthy(gateway, PLACE)
})
afterAll(() => open.disposeAsync())

const get = (path: string, init: RequestInit = {}) => gateway.ask(PLACE, { path, redirect: 'manual', ...init })

describe('content of IPFS', () => {
  test.each([
    ['text/html; charset=utf-8', '<script>fetch("/account/v1/keys")</script>'],
    ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'],
    ['application/xhtml+xml', '<html xmlns="http://www.w3.org/1999/xhtml"/>'],
  ])('that may have scripts is a file without an origin, whatever the node says of it: %s', async (type, body) => {
    node.answer = (_got, response) =>
      void response
        .writeHead(200, {
          'content-type': type,
          'content-disposition': 'inline; filename="page.html"',
          'content-security-policy': 'sandbox allow-scripts allow-same-origin',
        })
        .end(body)
    for (const method of ['GET', 'HEAD']) {
      const response = await get('/ipfs/cid/page.html', { method })
      expect([response.status, await response.text()]).toEqual([200, method === 'GET' ? body : ''])
      expect(response.headers.get('content-security-policy')).toBe('sandbox')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('content-disposition')).toBe('attachment')
    }
  })

  test('that is long, or a part of it, is likewise', async () => {
    const body = `<html>${'a'.repeat(200_000)}`
    node.answer = (_got, response) => void response.writeHead(206, { 'content-type': 'text/html' }).end(body)
    const response = await get('/ipns/name', { headers: { range: 'bytes=0-200005' } })
    expect([response.status, (await response.text()).length]).toEqual([206, body.length])
    expect(response.headers.get('content-security-policy')).toBe('sandbox')
    expect(response.headers.get('content-disposition')).toBe('attachment')
  })

  test('that is a picture is shown, without an origin', async () => {
    node.answer = (_got, response) => void response.writeHead(200, { 'content-type': 'image/png' }).end('png')
    const { headers } = await get('/ipfs/cid')
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual(['image/png', null])
    expect(headers.get('content-security-policy')).toBe('sandbox')
  })
})

describe('content that nobody has', () => {
  const faults = () => gateway.upstreams.status().flatMap(({ upstreams }) => upstreams.map(({ fault }) => fault))

  test.each<[string, number, (response: ServerResponse) => void]>([
    ['is not found in time', 504, (response) => void response.writeHead(504).end('no providers')],
    [
      'breaks off',
      200,
      (response) => {
        response.writeHead(200, { 'content-length': 300_000 }).write(Buffer.alloc(200_000), () => response.destroy())
      },
    ],
  ])('leaves its node as it is where it %s', async (_what, status, answer) => {
    node.answer = (_got, response) => answer(response)
    for (let i = 0; i < 20; i++) {
      const response = await get('/ipfs/cid')
      expect(response.status).toBe(status)
      await response.arrayBuffer().catch(() => undefined)
    }
    expect(faults()).toEqual([undefined])
  })

  test('does not hide that its node fails', async () => {
    node.answer = (_got, response) => void response.destroy()
    for (let i = 0; i < 20; i++) expect((await get('/ipfs/cid')).status).toBe(502)
    expect(faults()).toEqual(['calls to it fail'])
  })
})

describe('a folder without a slash at its end', () => {
  test('is found by the way that its node names, and no token is in it', async () => {
    node.answer = ({ path }, response) => {
      if (path === '/ipfs/cid/dir/?a=b') response.end('folder')
      else response.writeHead(301, { location: '/ipfs/cid/dir/?a=b' }).end('<a href="/ipfs/cid/dir/">Moved</a>')
    }
    const response = await get('/ipfs/cid/dir?a=b')
    expect([response.status, response.headers.get('location')]).toEqual([301, '../../ipfs/cid/dir/?a=b'])
    expect(response.headers.get('location')).not.toContain(TOKEN)
    expect(await (await get('/ipfs/cid/dir?a=b', { redirect: 'follow' })).text()).toBe('folder')
  })

  test.each(['http://node.example/ipfs/cid/dir/', '//node.example/', '/api/v0/id', '/webui'])(
    'is not found where its node leads out of what is open: %s',
    async (location) => {
      node.answer = (_got, response) => void response.writeHead(302, { location }).end()
      for (let i = 0; i < 10; i++) {
        const response = await get('/ipfs/cid/dir')
        expect([response.status, response.headers.get('location')]).toEqual([502, null])
      }
      node.answer = (_got, response) => void response.end('well')
      expect(await (await get('/ipfs/cid/dir')).text()).toBe('well')
    },
  )
})
