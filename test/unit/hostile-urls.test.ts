import diagnostics from 'node:diagnostics_channel'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openGuardedFetch } from '../../infra/guarded-fetch/guarded-fetch.ts'
import type { PublicRequest } from '../../infra/ports/public-fetch.ts'
import { locate } from '../../schemas/nft/token-uri.ts'

// What a contract may name as its token's document, or a server send a question on to: with one configured server, nothing of this is
// connected to. Node tells of every socket that is opened in this process, so none is missed wherever it leads.

const GATEWAYS = { ipfs: ['https://one.test/ipfs/'], arweave: ['https://ar.test/'] }
const BYTES_MAX = 1_000

/** Listens at every address of this machine. */
let victim: Server
let victimPort: number
let allowed: Server
let allowedPort: number
/** Where the allowed server sends a question on to. */
let location: string
let sockets: number
let touched: number
const onSocket = (): void => {
  sockets++
}

const listening = async (server: Server, host: string): Promise<number> => {
  await new Promise<void>((done) => server.listen(0, host, done))
  return (server.address() as AddressInfo).port
}

beforeAll(async () => {
  victim = createServer((_, response) => response.end('{"name":"secret"}')).on('connection', () => touched++)
  allowed = createServer((request, response) => {
    if (request.url === '/packed')
      return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(10_000_000)))
    if (request.url === '/small')
      return response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"name":"small"}'))
    if (request.url === '/twice') return response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end()
    if (request.url === '/html') return response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
    // As servers send what is no ASCII: its bytes.
    return response.writeHead(302, { location: Buffer.from(location).toString('latin1') }).end()
  })
  victimPort = await listening(victim, '::')
  allowedPort = await listening(allowed, '127.0.0.1')
  diagnostics.subscribe('net.client.socket', onSocket)
})
beforeEach(() => {
  sockets = 0
  touched = 0
})
afterEach(() => expect(touched).toBe(0))
afterAll(async () => {
  diagnostics.unsubscribe('net.client.socket', onSocket)
  for (const server of [victim, allowed]) {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  }
})

/** What names lead to: the addresses of strangers' name servers. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'loopback.test': ['127.0.0.1'],
  'loopback6.test': ['::1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'private.test': ['10.1.2.3'],
  'metadata.test': ['169.254.169.254'],
  'nat64.test': ['64:ff9b::7f00:1'],
  'sixtofour.test': ['2002:7f00:1::'],
  'half.test': ['93.184.216.34', '127.0.0.1'],
  'half6.test': ['2606:4700:4700::1111', 'fd00::1'],
  'nobody.test': [],
}

const resolve = async (host: string) => {
  const found = NAMES[host] ?? (/^localhost\.?$/.test(host) ? ['127.0.0.1'] : undefined)
  if (found === undefined) throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
  return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

function fetch(url: string, change: Partial<PublicRequest> = {}) {
  const guarded = openGuardedFetch({ allowed: `127.0.0.1:${allowedPort}`, resolve })
  const request = { method: 'GET', bytesMax: BYTES_MAX, timeoutMs: 5_000, redirectsMax: 3, plainHttp: true } as const
  return guarded.fetch({ ...request, url, ...change })
}

/** `PORT` is that of a server that listens at all addresses of this machine. */
const HOSTILE_HTTP = [
  'http://127.0.0.1:PORT/',
  'http://localhost:PORT/',
  'http://LOCALHOST:PORT/',
  'http://localhost.:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://127.255.255.254:PORT/',
  'http://2130706433:PORT/',
  'http://017700000001:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.0x0.0x0.0x1:PORT/',
  'http://0177.0.0.01:PORT/',
  'http://0x7f.1:PORT/',
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://127。0。0。1:PORT/',
  'http://%31%32%37.0.0.1:PORT/',
  'http://0:PORT/',
  'http://0.0.0.0:PORT/',
  'http://[::]:PORT/',
  'http://[::1]:PORT/',
  'http://[0:0:0:0:0:0:0:1]:PORT/',
  'http://[::127.0.0.1]:PORT/',
  'http://[::ffff:127.0.0.1]:PORT/',
  'http://[::ffff:7f00:1]:PORT/',
  'http://[0:0:0:0:0:ffff:7f00:1]:PORT/',
  'http://[::ffff:0:7f00:1]:PORT/',
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[64:ff9b::a9fe:a9fe]/latest/meta-data/',
  'http://[64:ff9b:1::7f00:1]:PORT/',
  'http://[2002:7f00:1::]:PORT/',
  'http://[2002:a9fe:a9fe::]/latest/meta-data/',
  'http://[2001:0:7f00:1::]:PORT/',
  'http://[fe80::1]:PORT/',
  'http://[fec0::1]:PORT/',
  'http://[fc00::1]:PORT/',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://[ff02::1]:PORT/',
  'http://[100::1]/',
  'http://169.254.169.254/latest/meta-data/iam/security-credentials/',
  'http://2852039166/latest/meta-data/',
  'http://0xa9fea9fe/latest/meta-data/',
  'http://0251.0376.0251.0376/latest/meta-data/',
  'http://[::ffff:169.254.169.254]/latest/meta-data/',
  'http://100.100.100.200/latest/meta-data/',
  'http://168.63.129.16/machine',
  'http://192.0.0.192/opc/v2/instance/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.0.1/',
  'http://100.64.0.1/',
  'http://198.18.0.1/',
  'http://192.88.99.1/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://loopback.test:PORT/',
  'http://loopback6.test:PORT/',
  'http://mapped.test:PORT/',
  'http://private.test/',
  'http://metadata.test/latest/meta-data/',
  'http://nat64.test:PORT/',
  'http://sixtofour.test:PORT/',
  'http://half.test:PORT/',
  'http://half6.test:PORT/',
  'http://nobody.test/',
  'http://user:password@127.0.0.1:PORT/',
  'http://one.test@127.0.0.1:PORT/',
  'http://127.0.0.1:PORT#@one.test/',
  'http:\\\\127.0.0.1:PORT\\',
  'http:/127.0.0.1:PORT/',
  'http:127.0.0.1:PORT/',
  'http://127.0.0.1\t:PORT/',
  'http://127.0.0.1:0PORT/',
] as const

const OTHER_SCHEMES = [
  'file:///etc/passwd',
  'file://127.0.0.1/etc/passwd',
  'ftp://127.0.0.1:PORT/',
  'gopher://127.0.0.1:PORT/_SET%20a%20b',
  'dict://127.0.0.1:PORT/info',
  'ldap://127.0.0.1:PORT/',
  'tftp://127.0.0.1:PORT/a',
  'ws://127.0.0.1:PORT/',
  'unix:/var/run/docker.sock',
  'blob:http://127.0.0.1:PORT/a',
  'jar:http://127.0.0.1:PORT/a!/',
  'javascript:fetch("http://127.0.0.1:PORT/")',
] as const

const HOSTILE = [...HOSTILE_HTTP, ...HOSTILE_HTTP.map((url) => url.replace(/^http:/, 'https:')), ...OTHER_SCHEMES]
const named = (url: string) => url.replaceAll('PORT', String(victimPort))

describe('where a token names something that is not public', () => {
  test.each(HOSTILE)('nobody is connected to: %s', async (url) => {
    const located = locate(named(url), GATEWAYS)
    if (located.kind === 'remote') {
      for (const target of located.urls) expect(await fetch(target), target).toMatchObject({ status: 'refused' })
    } else expect(located).toMatchObject({ kind: 'nowhere' })
    // Whoever comes to the guard without it is refused as well.
    for (const method of ['GET', 'HEAD', 'POST'] as const)
      expect(await fetch(named(url), { method }), method).toMatchObject({ status: 'refused' })
    expect(sockets).toBe(0)
  })
})

describe('where a server that may be asked sends a question on', () => {
  test.each(HOSTILE)('nobody else is connected to: %s', async (url) => {
    location = named(url)
    const answer = await fetch(`http://127.0.0.1:${allowedPort}/`, { redirectsMax: 1 })
    expect(answer).toMatchObject({ status: 'refused' })
    // A form that means a path of the server itself leads nowhere else.
    expect(sockets).toBe(answer.status === 'refused' && answer.kind === 'redirects' ? 2 : 1)
  })

  test('it is asked again and again so often and not more often', async () => {
    location = '/'
    expect(await fetch(`http://127.0.0.1:${allowedPort}/`)).toMatchObject({ status: 'refused', kind: 'redirects' })
    expect(sockets).toBe(4)
  })
})

test('the table has at least sixty lines of either kind', () => {
  expect(new Set(HOSTILE).size).toBe(HOSTILE.length)
  expect(HOSTILE_HTTP.length).toBeGreaterThanOrEqual(60)
})

test('http to a public address is asked for documents where that is wanted, and never for a POST', async () => {
  const resolved: string[] = []
  const guarded = openGuardedFetch({
    resolve: async (host) => {
      resolved.push(host)
      return []
    },
  })
  const request = { url: 'http://public.test/', bytesMax: 1, timeoutMs: 5_000, redirectsMax: 0 } as const
  await guarded.fetch({ ...request, method: 'GET', plainHttp: true })
  await guarded.fetch({ ...request, method: 'HEAD', plainHttp: true })
  expect(resolved).toEqual(['public.test', 'public.test'])
  await guarded.fetch({ ...request, method: 'POST', plainHttp: true })
  await guarded.fetch({ ...request, method: 'GET' })
  expect(resolved).toHaveLength(2)
})

describe('an answer', () => {
  const ask = (path: string, change: Partial<PublicRequest> = {}) =>
    fetch(`http://127.0.0.1:${allowedPort}${path}`, change)

  test('that is small packed and large unpacked is not read to its end', async () => {
    expect(await ask('/packed')).toMatchObject({ status: 'refused', kind: 'size' })
  })

  test('that is packed though nobody asked for it is unpacked, once', async () => {
    const answer = await ask('/small')
    expect(answer.status === 'answered' && Buffer.from(answer.body).toString()).toBe('{"name":"small"}')
    expect(await ask('/twice')).toMatchObject({ status: 'refused', kind: 'type' })
  })

  test('of a type that is not wanted is not read', async () => {
    expect(await ask('/html', { types: /json/ })).toMatchObject({ status: 'refused', kind: 'type' })
    expect(await ask('/html', { types: /^text\// })).toMatchObject({ status: 'answered' })
  })

  test('to HEAD has a type and no body', async () => {
    expect(await ask('/html', { method: 'HEAD' })).toEqual({
      ...{ status: 'answered', httpStatus: 200, type: 'text/html' },
      body: new Uint8Array(),
    })
  })
})
