import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Meter, type Passed } from '../../api/gateway/meter.ts'
import { SHARED_BYTES_MAX } from '../../api/gateway/shared-reads.ts'
import type { CountedCall, UsageMinute, UsageOf } from '../../api/gateway/usage.ts'
import type { Counters } from '../../infra/ports/counters.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import { silentLog } from '../unit/silent-log.ts'
import { insertRows } from './api-fixture.ts'
import {
  type GivenGateway,
  type Got,
  networkOn,
  openGivenGateway,
  openStub,
  rpcAnswer,
  type Stub,
  sendJson,
  untilHealthy,
} from './given-gateway.ts'
import { type Client, openClient, socketsOn, socketUrl, withSockets } from './given-socket.ts'

const SHARED = 'ethereum/mainnet'
/** Keeps answers, and coalesces none. */
const KEEPING = 'bsc/mainnet'
/** As a file leaves it that says nothing. */
const PLAIN = 'polygon/mainnet'
const NO_CONTRACTS = 'key-for-blocks-by-hash'

/** Counts what passes, and what is given back; nobody has a limit. */
class CountingMeter extends Meter {
  taken = 0
  returned = 0

  override open(of: UsageOf, endpoint?: string) {
    const bill = super.open(of, endpoint)
    const [asks, take] = [bill.asks.bind(bill), bill.take.bind(bill)]
    let units = 0
    bill.asks = (calls, bytes, own) => {
      units = calls.filter((call) => (own?.get(call) ?? 200) < 400).length
      asks(calls, bytes, own)
    }
    bill.take = () => {
      this.taken += units
      return take()
    }
    return bill
  }

  override giveBack(passed: Passed, units: number): void {
    this.returned += units
    super.giveBack(passed, units)
  }
}

/** Status, units and bytes of the answer of each call that was counted as usage. */
const counted: (readonly [number, number, number])[] = []
const minute = {
  rowOf: (_of: UsageOf, _method: string, status: number) => ({
    count: ({ billed, answerBytes }: CountedCall) => void counted.push([status, billed, answerBytes]),
  }),
} as unknown as UsageMinute

const open = new AsyncDisposableStack()
let [node, other, plain, shared]: Stub[] = []
let meter: CountingMeter
let gateway: GivenGateway
const stubs = () => [shared, node, other, plain] as readonly Stub[]
beforeAll(async () => {
  shared = open.use(await openStub('ethereum', 'mainnet'))
  node = open.use(await openStub('bsc', 'mainnet'))
  other = open.use(await openStub('bsc', 'mainnet'))
  plain = open.use(await openStub('polygon', 'mainnet'))
  withSockets(shared)
  const counters = {} as Counters
  const planOf = () => ({ name: 'unlimited' })
  const usage = { minuteAt: () => minute }
  meter = new CountingMeter({ counters, clientCounters: counters, planOf, usage, log: silentLog })
  gateway = open.use(
    await openGivenGateway(
      [
        { ...socketsOn(SHARED, shared), coalesce: true },
        { ...networkOn(KEEPING, node, other), keptBytes: 8 * 1024 },
        networkOn(PLAIN, plain),
      ],
      { meter },
    ),
  )
  const row = { token_hash: hashToken(NO_CONTRACTS), account: 'demo', version: 1, is_deleted: 0 }
  const limits = toTokenLimitsRow({ scopes: ['read'], allow: { methods: ['eth_getBlockByHash'] } })
  await insertRows(gateway.given.warehouse, 'access_tokens', [{ ...row, ...limits }])
  for (const place of [SHARED, KEEPING, PLAIN]) await untilHealthy(gateway, place)
})
afterAll(() => open.disposeAsync())
beforeEach(() => {
  for (const stub of stubs()) {
    stub.got.length = 0
    stub.answer = rpcAnswer
  }
  meter.taken = 0
  meter.returned = 0
  counted.length = 0
})

const post = (place: string, id: string, call: string, init: RequestInit = {}) =>
  gateway.ask(place, { ...init, method: 'POST', body: `{"jsonrpc":"2.0","id":${id},${call}}` })
const READ = '"method":"eth_call","params":[{"to":"0x01"},"latest"]'

/** Nothing is answered before so many calls have come to the gateway. */
function holdUntil(stub: Stub, calls: number, answer: Stub['answer'] = rpcAnswer): void {
  stub.answer = async (got, response) => {
    await expect.poll(() => meter.taken, { interval: 5 }).toBe(calls)
    answer(got, response)
  }
}

describe('equal reads in flight', () => {
  const IDS = ['7', '12345678901234567890123', '"7"', '"a\\u00e9 é"', '-0.50', 'null', '7']

  test('are one call at the node, counted for each, and answered with the id as each has written it', async () => {
    const sockets: Client[] = await Promise.all([1, 2].map(() => openClient(socketUrl(gateway, SHARED))))
    holdUntil(shared as Stub, IDS.length + sockets.length, (_got, response) =>
      sendJson(response, { jsonrpc: '2.0', id: 7, result: '0x2a' }),
    )
    const first = post(SHARED, '7', READ)
    await expect.poll(() => shared?.got.length).toBe(1)
    const others = IDS.slice(1).map((id) => post(SHARED, id, READ, { headers: { origin: 'https://app.example' } }))
    const told = sockets.map((socket, i) => socket.ask(`{"id": ${i}, "jsonrpc":"2.0",${READ}}`))
    const answers = await Promise.all([first, ...others])
    expect(await Promise.all(answers.map((one) => one.text()))).toEqual(
      IDS.map((id) => `{"jsonrpc":"2.0","id":${id},"result":"0x2a"}`),
    )
    expect(await Promise.all(told)).toEqual([0, 1].map((id) => `{"jsonrpc":"2.0","id":${id},"result":"0x2a"}`))
    expect(answers.map(({ headers }) => headers.get('access-control-allow-origin'))).toEqual([
      ...[null, ...others.map(() => '*')],
    ])
    expect([shared?.got.length, meter.taken, meter.returned]).toEqual([1, IDS.length + sockets.length, 0])
    const bytes = [...IDS, '0', '1'].map((id) => Buffer.byteLength(`{"jsonrpc":"2.0","id":${id},"result":"0x2a"}`))
    expect(counted.toSorted()).toEqual(bytes.map((length) => [200, 1, length]).toSorted())
    for (const socket of sockets) socket[Symbol.dispose]()
    // What has been answered is asked again.
    Object.assign(shared as Stub, { answer: rpcAnswer })
    await post(SHARED, '7', READ)
    expect(shared?.got.length).toBe(2)
  })

  test('are those alone that differ in nothing but their ids, and change nothing', async () => {
    const calls = [
      READ,
      '"method":"eth_call","params":[{"to":"0x01"},"earliest"]',
      '"method":"eth_call","params":[{"to":"0x01"}, "latest"]',
      '"method":"eth_estimateGas","params":[{"to":"0x01"},"latest"]',
      `${READ},"else":1`,
      '"method":"eth_newBlockFilter","params":[]',
      '"method":"eth_newBlockFilter","params":[]',
      '"method":"eth_fancy","params":[]',
      '"method":"eth_fancy","params":[]',
    ]
    holdUntil(shared as Stub, calls.length + 3)
    const answers = calls.map((call, id) => post(SHARED, String(id), call))
    // Nor do batches, and what is to go to one node.
    answers.push(gateway.ask(SHARED, { method: 'POST', body: `[{"id":1,${READ}},{"id":2,${READ}}]` }))
    answers.push(post(SHARED, '1', READ, { headers: { 'CONSISTENT-HASH': 'true' } }))
    for (const answer of answers) expect((await answer).status).toBe(200)
    expect(shared?.got.length).toBe(calls.length + 2)
  })

  test('are asked one by one where nothing is configured', async () => {
    holdUntil(plain as Stub, 5)
    await Promise.all([1, 2, 3, 4, 5].map((id) => post(PLAIN, String(id), READ)))
    expect(plain?.got.length).toBe(5)
  })

  test('go on when the first who asked has gone, and end when all have', async () => {
    for (const stay of [true, false]) {
      const held: ServerResponse[] = []
      const stub = shared as Stub
      stub.got.length = 0
      meter.taken = 0
      stub.answer = (_got, response) => held.push(response)
      const stops = [1, 2, 3].map(() => new AbortController())
      const asked: Promise<Response>[] = []
      for (const [i, { signal }] of stops.entries()) {
        asked.push(post(SHARED, String(i), READ, { signal }))
        asked.at(-1)?.catch(() => {})
        await expect.poll(() => meter.taken).toBe(i + 1)
      }
      const [response] = held as [ServerResponse]
      const closed = once(response, 'close')
      for (const stop of stay ? stops.slice(0, 2) : stops) stop.abort()
      if (stay) {
        await expect(asked[0]).rejects.toThrow()
        sendJson(response, { jsonrpc: '2.0', id: 0, result: '0x1' })
        expect(await (await asked[2])?.json()).toEqual({ jsonrpc: '2.0', id: 2, result: '0x1' })
      }
      await closed
      expect([held.length, response.writableFinished]).toEqual([1, stay])
    }
  })

  test('fail together, each with its id and its unit given back, and are not sent again for each', async () => {
    holdUntil(shared as Stub, 20, (_got, response) => response.destroy())
    const asked = Array.from({ length: 20 }, (_, id) => post(SHARED, String(id), READ))
    const told: (typeof counted)[number][] = []
    for (const [id, response] of (await Promise.all(asked)).entries()) {
      const text = await response.text()
      expect(JSON.parse(text)).toMatchObject({ id, error: { code: -32603 } })
      told.push([response.status, 0, text.length])
    }
    expect([shared?.got.length, meter.returned]).toEqual([1, 20])
    expect(counted.toSorted()).toEqual(told.toSorted())
    expect(told[0]?.[0]).toBe(502)
  })

  const long = 'a'.repeat(SHARED_BYTES_MAX)
  const idOf = ({ body }: Got): number => JSON.parse(body).id
  test.each<readonly [string, Stub['answer']]>([
    ['too long', (got, response) => sendJson(response, { result: long, id: idOf(got) })],
    ['of another id', (got, response) => sendJson(response, { id: null, error: { code: -32600, of: idOf(got) } })],
    ['no JSON that is whole', (got, response) => response.end(`{"id":${idOf(got)},"of":${idOf(got)}`)],
  ])('are asked by each of them where the answer is %s', async (_what, answer) => {
    holdUntil(shared as Stub, 4, answer)
    const asked = [1, 2, 3, 4].map((id) => post(SHARED, String(id), READ))
    for (const [i, response] of (await Promise.all(asked)).entries()) {
      expect(response.status).toBe(200)
      expect((await response.text()).replace(long, '')).toMatch(new RegExp(`"(id|of)":${i + 1}[,}]|"of":${i + 1}$`))
    }
    expect(shared?.got.length).toBe(4)
    await expect.poll(() => counted.length).toBe(4)
    expect(counted.map(([status, units]) => [status, units])).toEqual(Array.from({ length: 4 }, () => [200, 1]))
  })
})

describe('answers that are kept', () => {
  /** The chain as the nodes have it. */
  let fork: string
  const hashOf = (number: number) => `0x${fork}${number.toString(16).padStart(8, '0')}`
  const hex = (number: number) => `0x${number.toString(16)}`
  const TRANSACTION = `0x${'7a'.repeat(32)}`
  const answerAsChain: Stub['answer'] = ({ body }, response) => {
    const { id, method, params } = JSON.parse(body)
    const block = (number: number) => ({ number: hex(number), hash: hashOf(number) })
    const byTag: Record<string, number> = { latest: 100, finalized: 90 }
    const results: Record<string, unknown> = {
      eth_chainId: '0x38',
      eth_getBlockByNumber: block(byTag[params[0]] ?? Number(params[0])),
      eth_getBlockByHash: { ...block(80), hash: params[0] },
      eth_getTransactionReceipt: { blockNumber: hex(95), transactionHash: params[0], blockHash: hashOf(95) },
      eth_getBalance: '0x0',
    }
    sendJson(response, { jsonrpc: '2.0', id, result: results[method] })
  }
  const answerWith =
    (result: unknown, more: object = {}): Stub['answer'] =>
    ({ body }, response) =>
      sendJson(response, { jsonrpc: '2.0', id: JSON.parse(body).id, result, ...more })
  const finalAt = (first: number, second: number | undefined) => {
    Object.assign(node as Stub, { final: first })
    Object.assign(other as Stub, { final: second })
    const both = second === undefined ? undefined : Math.min(first, second)
    return expect
      .poll(() => gateway.upstreams.groupOf({ protocol: 'bsc', network: 'mainnet' })?.final, { interval: 10 })
      .toBe(both)
  }
  const asked = () => (node?.got.length ?? 0) + (other?.got.length ?? 0)
  /** The result; undefined where it is none. */
  const read = async (method: string, params: readonly unknown[], id = 1): Promise<unknown> => {
    const response = await post(KEEPING, String(id), `"method":"${method}","params":${JSON.stringify(params)}`)
    const answer = (await response.json()) as { readonly id: number; readonly result?: unknown }
    expect(answer.id).toBe(id)
    return answer.result
  }
  const answerAll = (answer: Stub['answer']) => {
    for (const stub of [node, other] as Stub[]) stub.answer = answer
  }
  beforeEach(async () => {
    fork = 'aa'
    await finalAt(90, 90)
    answerAll(answerAsChain)
  })

  test('are those of final blocks, and each who asks is counted, and hears its own id', async () => {
    const block = await read('eth_getBlockByNumber', [hex(60), false])
    for (const id of [2, 3]) expect(await read('eth_getBlockByNumber', [hex(60), false], id)).toEqual(block)
    expect([asked(), meter.taken, meter.returned]).toEqual([1, 3, 0])
    const response = await post(KEEPING, '"x"', `"method":"eth_getBlockByNumber","params":["${hex(60)}",false]`)
    expect([...response.headers.keys()].filter((name) => name.startsWith('x-'))).toEqual([])
    await read('eth_getBlockByNumber', [hex(60), true])
    for (let i = 0; i < 2; i++) await read('eth_chainId', [])
    for (let i = 0; i < 2; i++) await read('eth_getBlockByHash', ['0xcc'])
    expect(asked()).toBe(4)
  })

  test('are none of a block that a reorg may take, whichever way it is asked for', async () => {
    const questions: readonly [string, readonly unknown[]][] = [
      ['eth_getBlockByNumber', [hex(91), false]],
      ['eth_getBlockByNumber', ['latest', false]],
      ['eth_getBlockByNumber', ['finalized', false]],
      ['eth_getTransactionReceipt', [TRANSACTION]],
    ]
    const before = await Promise.all(questions.map(([method, params]) => read(method, params)))
    fork = 'bb'
    const after = await Promise.all(questions.map(([method, params]) => read(method, params)))
    expect(JSON.stringify(after)).toBe(JSON.stringify(before).replaceAll('0xaa', '0xbb'))
    // The same once it is final: what was not kept then is asked of a node.
    await finalAt(95, 95)
    fork = 'cc'
    const final = await Promise.all(questions.map(([method, params]) => read(method, params)))
    expect(JSON.stringify(final)).toBe(JSON.stringify(before).replaceAll('0xaa', '0xcc'))
    const sent = asked()
    await Promise.all(questions.map(([method, params]) => read(method, params)))
    expect(asked()).toBe(sent + 2)
  })

  test('are none that was asked for before its block was final: a node may have answered before it heard of a reorg', async () => {
    const question = ['eth_getBlockByNumber', [hex(92), false]] as const
    answerAll(async (got, response) => {
      await finalAt(95, 95)
      answerAsChain(got, response)
    })
    await read(...question)
    answerAll(answerAsChain)
    fork = 'bb'
    expect(await read(...question)).toMatchObject({ hash: hashOf(92) })
  })

  test('are final at each of the nodes: one that has told nothing may answer from anywhere', async () => {
    for (const second of [undefined, 69]) {
      await finalAt(90, second)
      for (let i = 0; i < 2; i++) await read('eth_getBlockByNumber', [hex(70), false])
    }
    expect(asked()).toBe(4)
  })

  test.each<readonly [string, Stub['answer']]>([
    ['that there is nothing', answerWith(null)],
    ['an error', answerWith(undefined, { error: { code: -32000, message: 'header not found' } })],
    ['another block than was asked for', answerWith({ number: hex(1), hash: '0x01' })],
    ['a block without a number', answerWith({ number: null, hash: '0x50' })],
  ])('are not what a node says once: %s', async (_what, answer) => {
    answerAll(answer)
    await read('eth_getBlockByNumber', [hex(50), false])
    answerAll(answerAsChain)
    expect(await read('eth_getBlockByNumber', [hex(50), false])).toEqual({ number: hex(50), hash: hashOf(50) })
  })

  test('are not what was asked with a state, or of a method that nobody knows', async () => {
    for (const method of ['eth_getBalance', 'eth_fancy', 'constructor'])
      for (let i = 0; i < 2; i++) await read(method, ['0x01', hex(1)])
    expect(asked()).toBe(6)
  })

  test('are for keys alone that may ask for them', async () => {
    const ask = (token: string) =>
      gateway.ask(KEEPING, {
        ...{ token, method: 'POST' },
        body: `{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["${hex(40)}",false]}`,
      })
    await read('eth_getBlockByNumber', [hex(40), false])
    expect((await ask(NO_CONTRACTS)).status).toBe(403)
    expect((await ask('nobody')).status).toBe(401)
    expect(meter.taken).toBe(1)
  })

  test('take no more memory than they may', async () => {
    for (let number = 0; number < 80; number++) await read('eth_getBlockByNumber', [hex(number), false])
    const sent = asked()
    await read('eth_getBlockByNumber', [hex(79), false])
    expect(asked()).toBe(sent)
    await read('eth_getBlockByNumber', [hex(0), false])
    expect(asked()).toBe(sent + 1)
  })

  test('are forgotten when a node turns out to follow another chain', async () => {
    const stub = other as Stub
    fork = 'bb'
    expect(await read('eth_getBlockByNumber', [hex(30), true])).toMatchObject({ hash: hashOf(30) })
    const { identity } = stub
    stub.identity = '0x1'
    const wellOf = () => gateway.upstreams.groupOf({ protocol: 'bsc', network: 'mainnet' })?.all().length
    await expect.poll(wellOf, { interval: 10 }).toBe(1)
    fork = 'aa'
    expect(await read('eth_getBlockByNumber', [hex(30), true])).toMatchObject({ hash: hashOf(30) })
    stub.identity = identity
    await expect.poll(wellOf, { interval: 10 }).toBe(2)
  })
})
