import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Meter } from '../../api/gateway/meter.ts'
import { type CountedCall, Usage, type UsageMinute, type UsageOf } from '../../api/gateway/usage.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { Counters } from '../../infra/ports/counters.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { type OpenUpstreams, openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { insertAll } from '../../processors/loop/rows.ts'
import { projectUsage } from '../../processors/usage/project-usage.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { silentLog } from '../unit/silent-log.ts'
import { insertRows, MAINNET } from './api-fixture.ts'
import { type GivenApi, openGivenApi } from './given-api.ts'
import { type Got, networkOn, openStub, rpcAnswer, type Stub, sendJson, untilHealthy } from './given-gateway.ts'
import { openClient, socketsOn, withSockets } from './given-socket.ts'

// Calls of all kinds at two processes, and what their usage must be: each line of the ledger is written where a call is made, by what its client
// has seen.

const PLACE = 'ethereum/mainnet'
const REST_PLACE = `${MAINNET.names.protocol}/${MAINNET.names.network}`
const never = new AbortController().signal

/** An installation's counters, with what is taken in all. */
class Counted implements Counters {
  readonly #counters: Counters
  readonly taken = new Map<string, number>()

  constructor(counters: Counters) {
    this.#counters = counters
  }

  async take(...asked: Parameters<Counters['take']>) {
    const taken = await this.#counters.take(...asked)
    if (taken.allowed) this.#add(asked[0], asked[1])
    return taken
  }

  async giveBack(...given: Parameters<Counters['giveBack']>) {
    await this.#counters.giveBack(...given)
    this.#add(given[0], -given[1])
  }

  #add(key: string, units: number): void {
    const account = key.split(':').at(-1) ?? ''
    this.taken.set(account, (this.taken.get(account) ?? 0) + units)
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

const open = new AsyncDisposableStack()
let node: Stub
let beacon: Stub
let doge: Stub
let given: GivenApi
let upstreams: OpenUpstreams
let counters: Counted
let eventLog: EventLog
let meters: readonly Meter[]
let usages: readonly Usage[]
let apis: readonly Api[]
beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-usage-'))
  open.defer(() => rm(directory, { recursive: true }))
  eventLog = open.use(await openSqliteEventLog({ file: join(directory, 'log.sqlite') }))
  node = open.use(await openStub('ethereum', 'mainnet'))
  beacon = open.use(await openStub('ethereum2', 'mainnet'))
  doge = open.use(await openStub('dogecoin', 'mainnet'))
  given = open.use(await openGivenApi())
  const tokens = ['acme-1', 'acme-2', 'other-1', 'small-1'].map((key, version) => ({
    ...{ token_hash: hashToken(key), account: key.split('-')[0] ?? '', version: version + 1, is_deleted: 0 },
  }))
  await insertRows(given.warehouse, 'access_tokens', tokens)
  const networks = [
    socketsOn(PLACE, node),
    networkOn('ethereum2/mainnet', beacon),
    { ...networkOn('dogecoin/mainnet', doge), hedge: false },
  ]
  upstreams = open.use(openUpstreams({ networks, log: silentLog, secret: 'secret', probeMs: 100 }))
  counters = new Counted(open.use(await openMemoryCounters()))
  const planOf = (account: string) => ({ name: 'default', requestsPerDay: account === 'small' ? 2 : 10_000 })
  usages = [1, 2].map(() => open.use(new Usage({ eventLog, log: silentLog })))
  meters = usages.map((usage) => new Meter({ counters, clientCounters: counters, planOf, usage, log: silentLog }))
  apis = await Promise.all(
    meters.map((meter) => openApi({ ...given.partsOf([MAINNET]), upstreams, meter, host: '127.0.0.1', port: 0 })),
  )
  for (const api of apis) open.use(api)
  for (const place of [PLACE, 'ethereum2/mainnet', 'dogecoin/mainnet']) await untilHealthy({ upstreams }, place)
})
afterAll(() => open.disposeAsync())

/** Calls and units by what tells rows apart; what must come out. */
const ledger = new Map<string, [calls: number, billed: number, pushes: number]>()
interface Did {
  readonly key?: string
  readonly place?: string
  readonly method: string
  readonly status: number
  readonly billed?: number
  readonly calls?: number
  readonly pushes?: number
}
function did({ key = 'acme-1', place = PLACE, method, status, billed = 0, calls = 1, pushes = 0 }: Did): void {
  const line = [key.split('-')[0], hashToken(key), place, method, status].join(' ')
  const [ofCalls, ofBilled, ofPushes] = ledger.get(line) ?? [0, 0, 0]
  ledger.set(line, [ofCalls + calls, ofBilled + billed, ofPushes + pushes])
}

let asked = 0
const url = (): string => (apis[asked++ % apis.length] as Api).url
const rpc = (method: string, id = 7) => ({ jsonrpc: '2.0', id, method, params: [] })
async function post(body: unknown, { key = 'acme-1', place = PLACE, headers = {} } = {}): Promise<number> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(`${url()}/${place}/${key}`, { method: 'POST', body: text, headers })
  await response.text()
  return response.status
}

/** What the tables say, of events that are told as often as asked. */
async function toldBy(times: number): Promise<ReadonlyMap<string, readonly [number, number, number]>> {
  for (let i = 0; i < times; i++) {
    const events = await Array.fromAsync(eventLog.read({ topic: 'usage', signal: never }))
    await insertAll(
      given.warehouse,
      events.toReversed().flatMap((event) => projectUsage(event).rows),
    )
  }
  const rows = await given.warehouse.query<{ line: string; calls: string; billed: string; pushes: string }>(`
    SELECT concat(account, ' ', token_hash, ' ', protocol, '/', network, ' ', method, ' ', toString(status)) AS line,
      sum(calls) AS calls, sum(billed) AS billed, sum(pushes) AS pushes
    FROM usage_minutes FINAL GROUP BY line`)
  return new Map(rows.map(({ line, calls, billed, pushes }) => [line, [Number(calls), Number(billed), Number(pushes)]]))
}

test('usage is what was done, to the call; what is billed is what the quota has counted, whichever service was asked', async () => {
  node.answer = (got, response) => {
    if (got.body.includes('eth_syncing')) response.writeHead(200).end(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))
    else if (!got.body.includes('eth_call')) rpcAnswer(got, response)
  }
  for (let i = 0; i < 4; i++) did({ method: 'eth_chainId', status: await post(rpc('eth_chainId')), billed: 1 })
  did({ key: 'acme-2', method: 'eth_chainId', status: await post(rpc('eth_chainId'), { key: 'acme-2' }), billed: 1 })
  did({ key: 'other-1', method: 'eth_chainId', status: await post(rpc('eth_chainId'), { key: 'other-1' }), billed: 1 })
  did({ method: 'admin_peers', status: await post(rpc('admin_peers')) })
  did({ method: 'other', status: await post('{') })
  did({ method: 'other', status: await post('{}', { headers: { 'content-encoding': 'gzip' } }) })

  const mixed = [rpc('eth_chainId', 1), rpc('admin_peers', 2), rpc('eth_gasPrice', 3), rpc('eth_chainId', 4)]
  const status = await post(mixed)
  did({ method: 'eth_chainId', status, calls: 2, billed: 2 })
  did({ method: 'eth_gasPrice', status, billed: 1 })
  did({ method: 'admin_peers', status: 403 })
  expect(await post([rpc('admin_peers', 1), rpc('admin_addPeer', 2)])).toBe(403)
  did({ method: 'admin_peers', status: 403 })
  did({ method: 'admin_addPeer', status: 403 })
  expect(await post({ ...rpc('eth_getFilterChanges'), params: ['0x1'] })).toBe(200)
  did({ method: 'eth_getFilterChanges', status: 200, billed: 1 })
  const withNoCalls = await post([1, rpc('eth_gasPrice', 2), { id: 3 }])
  did({ method: 'eth_gasPrice', status: withNoCalls, billed: 1 })
  did({ method: 'other', status: 400, calls: 2 })
  expect(await post([1, 2, 3])).toBe(200)
  did({ method: 'other', status: 400, calls: 3 })
  // A filter of nobody's is an answer, what is refused beside it is none.
  const unknown = [{ ...rpc('eth_uninstallFilter', 1), params: ['0x1'] }, rpc('admin_peers', 2)]
  expect(await post(unknown)).toBe(403)
  did({ method: 'eth_uninstallFilter', status: 200, billed: 1 })
  did({ method: 'admin_peers', status: 403 })

  // Nobody's.
  await fetch(`${url()}/public/${PLACE}`, { method: 'POST', body: JSON.stringify(rpc('eth_chainId')) })
  expect(await post(rpc('eth_chainId'), { key: 'nobody' })).toBe(401)

  // The day of the account has two units, whichever process is asked.
  const small = [1, 2, 3].map(() => post(rpc('eth_chainId'), { key: 'small-1' }))
  for (const one of await Promise.all(small))
    did({ key: 'small-1', method: 'eth_chainId', status: one, billed: one === 200 ? 1 : 0 })
  expect(ledger.get(`small ${hashToken('small-1')} ${PLACE} eth_chainId 429`)).toEqual([1, 0, 0])

  await askNative()
  await askFamilies()
  await askSockets()
  await askWhatFails()

  for (const meter of meters) await meter[Symbol.asyncDispose]()
  for (const usage of usages) await usage.tell()
  const told = await toldBy(1)
  expect(new Map([...told].sort())).toEqual(new Map([...ledger].sort()))
  const billed = new Map<string, number>()
  for (const [line, [, units]] of told) {
    const [account = ''] = line.split(' ')
    billed.set(account, (billed.get(account) ?? 0) + units)
  }
  const { taken } = counters
  expect(billed).toEqual(new Map([...billed.keys()].map((account) => [account, taken.get(account)])))
})

test('events that come twice, and the latest first, give the same table', async () => {
  expect(new Map([...(await toldBy(2))].sort())).toEqual(new Map([...ledger].sort()))
})

async function askNative(): Promise<void> {
  const place = 'ethereum2/mainnet'
  const path = '/eth/v1/node/version'
  beacon.answer = (_got, response) => sendJson(response, { data: { version: 'stub' } })
  const response = await fetch(`${url()}/${place}/acme-1${path}`)
  await response.text()
  did({ place, method: `GET#${path}`, status: response.status, billed: 1 })
  // A node’s own error is an answer.
  beacon.answer = (_got, answer) => sendJson(answer, { code: 404, message: 'no such block' }, 404)
  const lacking = await fetch(`${url()}/${place}/acme-1${path}`)
  await lacking.text()
  did({ place, method: `GET#${path}`, status: lacking.status, billed: 1 })
  // An answer without end has been given once it has begun, whoever ends it.
  for (const isLost of [false, true]) {
    const events = '/eth/v1/events'
    let end = (): void => {}
    beacon.answer = (_got, answer) => {
      answer.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: head\n\n')
      end = () => answer.destroy()
    }
    const leaving = new AbortController()
    const stream = await fetch(`${url()}/${place}/acme-1${events}?topics=head`, { signal: leaving.signal })
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    if (isLost) end()
    else leaving.abort()
    await expect(reader.read()).rejects.toThrow()
    did({ place, method: `GET#${events}`, status: stream.status, billed: 1 })
  }
  doge.answer = (_got, answer) => sendJson(answer, { id: 7, error: { code: -5 } }, 500)
  const dogePlace = 'dogecoin/mainnet'
  did({
    place: dogePlace,
    method: 'getblockcount',
    status: await post(rpc('getblockcount'), { place: dogePlace }),
    billed: 1,
  })
}

async function askFamilies(): Promise<void> {
  const base = `${url()}/${REST_PLACE}/acme-1`
  const ask = async (method: string, address: string, init: RequestInit = {}, billed = 1): Promise<void> => {
    const response = await fetch(address, init)
    await response.text()
    expect(response.status).toBeLessThan(429)
    did({ place: REST_PLACE, method, status: response.status, billed })
  }
  const total = '/api/v1/validator/total-rewards'
  await ask(`GET#${total}`, `${base}${total}`)
  const json = { 'content-type': 'application/json' }
  await ask('POST#/graphql', `${base}/graphql`, { method: 'POST', headers: json, body: '{"query":"{ __typename }"}' })
  await ask('GET#/nft/getContractMetadata', `${url()}/nft/${MAINNET.names.nftName}/acme-1/getContractMetadata`)
  // What nobody can read costs nothing; what can be read and is wrong does.
  const details = '/api/v1/validator/details'
  for (const body of ['{', '[1]', 'x'.repeat(2_000_000)]) {
    await ask(`POST#${details}`, `${base}${details}`, { method: 'POST', body }, 0)
    await ask('POST#/graphql', `${base}/graphql`, { method: 'POST', headers: json, body }, 0)
  }
  await ask(`POST#${details}`, `${base}${details}`, { method: 'POST', body: '{"limit":"x"}' })
  await ask('POST#/graphql', `${base}/graphql`, { method: 'POST', headers: json, body: '{"query":"{"}' })
}

async function askSockets(): Promise<void> {
  const sockets = withSockets(node)
  sockets.answer = (text, socket) => {
    const { id, method, params } = JSON.parse(text) as { id: unknown; method: string; params: readonly unknown[] }
    const isPending = params?.[0] === 'newPendingTransactions'
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'eth_unsubscribe' ? true : '0xab' }))
    const pushed = { subscription: '0xab', result: '0x1' }
    if (isPending)
      for (let i = 0; i < 3; i++)
        socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: pushed }))
  }
  using client = await openClient(`${url().replace('http', 'ws')}/ws/${PLACE}/acme-1`)
  const say = async (body: unknown): Promise<void> => {
    await client.ask(typeof body === 'string' ? body : JSON.stringify(body))
  }
  await say(rpc('eth_chainId'))
  did({ method: 'eth_chainId', status: 200, billed: 1 })
  await say(rpc('admin_peers'))
  did({ method: 'admin_peers', status: 403 })
  await say('{')
  did({ method: 'other', status: 400 })
  await say([1, rpc('eth_gasPrice', 1)])
  did({ method: 'eth_gasPrice', status: 200, billed: 1 })
  did({ method: 'other', status: 400 })
  await say([rpc('eth_gasPrice', 1), rpc('admin_peers', 2)])
  did({ method: 'eth_gasPrice', status: 200, billed: 1 })
  did({ method: 'admin_peers', status: 403 })
  // Bytes that are no text cannot be told.
  await say(rpc('eth_syncing'))
  did({ method: 'eth_syncing', status: 502 })
  const heard = client.heard.length
  await say({ ...rpc('eth_subscribe'), params: ['newPendingTransactions'] })
  await expect.poll(() => client.heard.length).toBe(heard + 4)
  did({ method: 'eth_subscribe', status: 200, billed: 1, pushes: 3 })
  const { result } = JSON.parse(client.heard[heard] ?? '') as { readonly result: string }
  await say({ ...rpc('eth_unsubscribe'), params: [result] })
  did({ method: 'eth_unsubscribe', status: 200, billed: 1 })
  await say({ ...rpc('eth_getFilterLogs'), params: ['0x1'] })
  did({ method: 'eth_getFilterLogs', status: 200, billed: 1 })
  // Who leaves has asked.
  client.socket.send(JSON.stringify(rpc('eth_call')))
  await untilAsked(({ body }) => body.includes('eth_call'))
  client.socket.terminate()
  await once(client.socket, 'close')
  did({ method: 'eth_call', status: 499, billed: 1 })
}

async function askWhatFails(): Promise<void> {
  const leaving = new AbortController()
  node.got.length = 0
  const init = { method: 'POST', body: JSON.stringify(rpc('eth_call')), signal: leaving.signal }
  const left = fetch(`${url()}/${PLACE}/acme-1`, init).catch(() => undefined)
  await untilAsked(({ body }) => body.includes('eth_call'))
  leaving.abort()
  await left
  did({ method: 'eth_call', status: 499, billed: 1 })
  node.answer = (_got, response) => response.destroy()
  for (let i = 0; i < 2; i++) did({ method: 'eth_gasPrice', status: await post(rpc('eth_gasPrice')) })
  const batch = await post([rpc('eth_gasPrice', 1), rpc('admin_peers', 2)])
  did({ method: 'eth_gasPrice', status: batch })
  // Refused before anybody was asked.
  did({ method: 'admin_peers', status: 403 })
  expect(batch).toBeGreaterThanOrEqual(502)
  const none = 'ethereum/holesky'
  did({ place: none, method: 'eth_chainId', status: await post(rpc('eth_chainId'), { place: none }) })
}

async function untilAsked(isIt: (got: Got) => boolean): Promise<void> {
  await expect.poll(() => node.got.some(isIt)).toBe(true)
}

/** Counts answers, of an account with so many units a day, instead of adding them up. */
function givenCounting(counters: Counters, requestsPerDay: number) {
  const counted: (readonly [status: number, bytes: number])[] = []
  const requested: number[] = []
  const minute = {
    rowOf: (_of: UsageOf, _method: string, status: number) => ({
      count: ({ requestBytes, answerBytes }: CountedCall) => {
        counted.push([status, answerBytes])
        requested.push(requestBytes)
      },
      giveBack: () => {},
    }),
  } as unknown as UsageMinute
  const planOf = () => ({ name: 'default', requestsPerDay })
  const options = { counters, clientCounters: counters, planOf, log: silentLog }
  return { counted, requested, meter: new Meter({ ...options, usage: { minuteAt: () => minute } }) }
}

test('bytes of answers of other families are those of their bodies, refusals too', async () => {
  await using ofDay = await openMemoryCounters()
  const { counted, meter } = givenCounting(ofDay, 1)
  await using _meter = meter
  await using api = await openApi({ ...given.partsOf([MAINNET]), meter, host: '127.0.0.1', port: 0 })
  const answers: (readonly [status: number, bytes: number])[] = []
  for (let i = 0; i < 2; i++) {
    const response = await fetch(`${api.url}/ethereum/mainnet/other-1/api/v1/validator/total-rewards`, {
      headers: { 'accept-encoding': 'identity' },
    })
    answers.push([response.status, (await response.arrayBuffer()).byteLength])
  }
  expect(answers.map(([status]) => status)).toEqual([expect.any(Number), 429])
  await expect.poll(() => counted).toEqual(answers)
})

test('bytes of other families are those of bodies that there are, whoever tells their length', async () => {
  await using ofDay = await openMemoryCounters()
  const { counted, requested, meter } = givenCounting(ofDay, 100)
  await using _meter = meter
  await using api = await openApi({ ...given.partsOf([MAINNET]), meter, host: '127.0.0.1', port: 0 })
  const at = `${api.url}/ethereum/mainnet/other-1/api/v1/validator`
  const plain = { 'accept-encoding': 'identity' }
  await fetch(`${at}/total-rewards`, { method: 'HEAD', headers: plain })
  const whole = await fetch(`${at}/total-rewards`, { headers: plain })
  const bytes = (await whole.arrayBuffer()).byteLength
  const same = await fetch(`${at}/total-rewards`, {
    headers: { ...plain, 'if-none-match': whole.headers.get('etag') ?? '' },
  })
  expect([whole.status, same.status]).toEqual([200, 304])
  const body = JSON.stringify({ pubkeys: [], other: 'x'.repeat(1_000) })
  const stream = new Blob([body]).stream()
  await (await fetch(`${at}/details`, { method: 'POST', body: stream, duplex: 'half' } as RequestInit)).text()
  await expect.poll(() => counted).toHaveLength(4)
  expect(counted.slice(0, 3)).toEqual([
    [200, 0],
    [200, bytes],
    [304, 0],
  ])
  expect(requested).toEqual([0, 0, 0, body.length])
})

test('bytes of refusals are those that were sent, over HTTP and over WebSocket', async () => {
  await using ofDay = await openMemoryCounters()
  const { counted, requested, meter } = givenCounting(ofDay, 2)
  await using _meter = meter
  await using api = await openApi({ ...given.partsOf([]), upstreams, meter, host: '127.0.0.1', port: 0 })
  node.answer = rpcAnswer
  const answers: (readonly [status: number, bytes: number])[] = []
  const asked: number[] = []
  const tell = async (place: string, init: RequestInit): Promise<void> => {
    asked.push(Buffer.byteLength((init.body ?? '') as string))
    const response = await fetch(`${api.url}/${place}`, init)
    answers.push([response.status, (await response.arrayBuffer()).byteLength])
  }
  const say = (body: unknown) => tell(`${PLACE}/other-1`, { method: 'POST', body: JSON.stringify(body) })
  await say({ ...rpc('admin_peers'), id: 'ä' })
  await say({ ...rpc('eth_getFilterChanges'), id: 'ä', params: ['0x1'] })
  await say([])
  node.answer = (_got, response) => response.destroy()
  await say(rpc('eth_gasPrice'))
  await tell('ethereum2/holesky/other-1/eth/v1/node/version', {})
  await tell('ipfs/pub/other-1/ipfs/bafkqaaa', { method: 'HEAD' })
  using client = await openClient(`${api.url.replace('http', 'ws')}/ws/${PLACE}/other-1`)
  const hear = async (body: string, status: number): Promise<void> => {
    asked.push(body.length)
    answers.push([status, Buffer.byteLength(await client.ask(body))])
  }
  await hear('{', 400)
  await hear(JSON.stringify(rpc('eth_gasPrice')), 502)
  // The last unit of the day.
  await hear(JSON.stringify({ ...rpc('eth_unsubscribe'), params: ['0x1'] }), 200)
  await hear(JSON.stringify(rpc('eth_chainId')), 429)
  await hear(JSON.stringify({ ...rpc('eth_unsubscribe'), params: ['0x1'] }), 429)
  expect(answers.map(([status]) => status)).toEqual([403, 200, 400, 502, 503, 503, 400, 502, 200, 429, 429])
  expect(answers[5]).toEqual([503, 0])
  expect(counted).toEqual(answers)
  expect(requested).toEqual(asked)
})

/** Of an answer that is told as it comes, and stops amid it. */
const SENT_BYTES = 100_000

test('bytes of answers that are cut are those that were sent, whoever cuts them', async () => {
  await using ofDay = await openMemoryCounters()
  const { counted, meter } = givenCounting(ofDay, 2)
  await using _meter = meter
  await using api = await openApi({ ...given.partsOf([]), upstreams, meter, host: '127.0.0.1', port: 0 })
  let die = (): void => {}
  beacon.answer = (_got, answer) => {
    answer.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': 2 * SENT_BYTES })
    answer.write(Buffer.alloc(SENT_BYTES))
    die = () => answer.destroy()
  }
  for (const cut of ['client', 'node']) {
    const leaving = new AbortController()
    const { body } = await fetch(`${api.url}/ethereum2/mainnet/other-1/eth/v2/debug/beacon/states/head`, {
      signal: leaving.signal,
    })
    const reader = (body as ReadableStream<Uint8Array>).getReader()
    for (let bytes = 0; bytes < SENT_BYTES; ) bytes += (await reader.read()).value?.length ?? SENT_BYTES
    if (cut === 'client') leaving.abort()
    else die()
    await expect(reader.read()).rejects.toThrow()
  }
  await expect
    .poll(() => counted)
    .toEqual([
      [499, SENT_BYTES],
      [502, SENT_BYTES],
    ])
})
