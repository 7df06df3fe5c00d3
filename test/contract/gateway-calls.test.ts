import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hashToken } from '../../schemas/events/accounts.ts'
import { tries } from '../long-form.ts'
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

const nodes: Stub[] = []
let gateway: GivenGateway
beforeAll(async () => {
  for (let i = 0; i < 3; i++) nodes.push(await openStub('ethereum', 'mainnet'))
  gateway = await openGivenGateway([networkOn('ethereum/mainnet', ...nodes)])
  await untilHealthy(gateway, 'ethereum/mainnet')
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  for (const node of nodes) await node[Symbol.asyncDispose]()
})
beforeEach(() => {
  for (const node of nodes) {
    node.answer = rpcAnswer
    node.got.length = 0
  }
})

interface Rpc {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}
const place = 'ethereum/mainnet'
const post = async (body: unknown) => {
  const response = await gateway.ask(place, { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as never }
}
const gotBy = () => nodes.map((node) => node.got.length)

/** A node that knows its own filters and no others. */
function keepFilters(node: Stub): void {
  let made = 0
  const answerTo = ({ id, method, params }: Rpc) => {
    if (method === 'eth_newFilter') return { jsonrpc: '2.0', id, result: `0x${(++made).toString(16)}` }
    if (method !== 'eth_getFilterChanges') return { jsonrpc: '2.0', id, result: '0x2a' }
    const known = Number(params[0]) <= made && Number(params[0]) > 0
    return known
      ? { jsonrpc: '2.0', id, result: [] }
      : { jsonrpc: '2.0', id, error: { code: -32000, message: 'filter not found' } }
  }
  node.answer = ({ body }: Got, response) => {
    const asked = JSON.parse(body) as Rpc | readonly Rpc[]
    sendJson(response, Array.isArray(asked) ? asked.map(answerTo) : answerTo(asked as Rpc))
  }
}

describe('filters', () => {
  const make = { jsonrpc: '2.0', id: 1, method: 'eth_newFilter', params: [{}] }
  const changes = (filter: unknown, id = 2) => ({
    jsonrpc: '2.0',
    id,
    method: 'eth_getFilterChanges',
    params: [filter],
  })

  test('are asked for where they were made, whichever of three nodes that was', async () => {
    for (const node of nodes) keepFilters(node)
    const filters = new Set<string>()
    for (let i = 0; i < 30; i++) {
      // Another node is the first choice while one is on another chain.
      const out = nodes[i % 3] as Stub
      out.identity = '0x5'
      await expect
        .poll(() => (gateway.upstreams.groupOf({ protocol: 'ethereum', network: 'mainnet' })?.all() ?? []).length, {
          interval: 20,
        })
        .toBe(2)
      const { body } = await post(make)
      filters.add((body as { result: string }).result)
      out.identity = '0x1'
      await expect
        .poll(() => (gateway.upstreams.groupOf({ protocol: 'ethereum', network: 'mainnet' })?.all() ?? []).length, {
          interval: 20,
        })
        .toBe(3)
    }
    expect(filters.size).toBe(30)
    expect(gotBy().filter((count) => count > 0).length).toBeGreaterThan(1)
    const asked = [...filters]
    for (let i = 0; i < tries(300, 10_000); i++) {
      const { body } = await post(changes(asked[i % asked.length]))
      expect(body).toEqual({ jsonrpc: '2.0', id: 2, result: [] })
    }
  })

  test('work in batches with other calls', async () => {
    for (const node of nodes) keepFilters(node)
    const made = await post([
      { ...make, id: 'a' },
      { jsonrpc: '2.0', id: 'b', method: 'eth_chainId' },
      { ...make, id: 'c' },
    ])
    const answers = made.body as { id: string; result: string }[]
    expect(answers.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(answers[1]?.result).toBe('0x2a')
    const { body } = await post([
      changes(answers[0]?.result, 1),
      changes(answers[2]?.result, 2),
      { id: 3, method: 'eth_chainId' },
    ])
    expect(body).toEqual([
      { jsonrpc: '2.0', id: 1, result: [] },
      { jsonrpc: '2.0', id: 2, result: [] },
      { jsonrpc: '2.0', id: 3, result: '0x2a' },
    ])
  })

  test.each(['0x1', '0x1ffffffff', 7, null])('that nobody has made here are not found: %j', async (filter) => {
    for (const node of nodes) keepFilters(node)
    const { body } = await post(changes(filter))
    expect(body).toMatchObject({
      id: 2,
      error: filter === '0x1ffffffff' ? {} : { code: -32000, message: 'filter not found' },
    })
  })
})

describe('a signed transaction', () => {
  const send = { jsonrpc: '2.0', id: 9, method: 'eth_sendRawTransaction', params: ['0x00'] }
  const known = { jsonrpc: '2.0', id: 9, error: { code: -32000, message: 'already known' } }

  test('goes to all nodes, and is answered by one that takes it', async () => {
    for (const node of nodes) node.answer = (_got, response) => sendJson(response, known)
    const last = nodes[2] as Stub
    last.answer = (_got, response) =>
      setTimeout(() => sendJson(response, { jsonrpc: '2.0', id: 9, result: '0xabc' }), 50)
    expect(await post(send)).toEqual({ status: 200, body: { jsonrpc: '2.0', id: 9, result: '0xabc' } })
    expect(gotBy()).toEqual([1, 1, 1])
  })

  test('that no node takes is answered with what the first one says', async () => {
    for (const node of nodes) node.answer = (_got, response) => sendJson(response, known)
    expect(await post(send)).toEqual({ status: 200, body: known })
  })

  test('that a node has taken and died is looked for at one that refuses it, and answered by its hash', async () => {
    const hash = '0x8da7e0b8da6ac4e2e1cdbb1a8b0a9c8c0c0a3f1b7c5d6e7f8091a2b3c4d5e6f7'
    const raw = '0x00'
    const [dying, ...others] = nodes as [Stub, Stub, Stub]
    dying.answer = (_got, response) => response.destroy()
    for (const node of others)
      node.answer = (got, response) => {
        const { method, params } = JSON.parse(got.body) as { method: string; params: string[] }
        if (method === 'eth_sendRawTransaction') sendJson(response, known)
        else sendJson(response, { jsonrpc: '2.0', id: 1, result: { hash: isThere ? params[0] : hash } })
      }
    let isThere = true
    // keccak-256 of one zero byte
    const expected = '0xbc36789e7a1e281436464229828f817d6612f7b477d66591ff96a9e064bcc98a'
    expect(await post({ ...send, params: [raw] })).toEqual({
      status: 200,
      body: { jsonrpc: '2.0', id: 9, result: expected },
    })
    isThere = false
    expect(await post(send)).toEqual({ status: 200, body: known })
  })

  test('that a dying node gets is answered by the others, and by nobody if all die', async () => {
    const [first, ...others] = nodes as [Stub, Stub, Stub]
    first.answer = (_got, response) => response.destroy()
    expect((await post(send)).status).toBe(200)
    for (const node of others) node.answer = (_got, response) => response.destroy()
    expect(await post(send)).toEqual({
      status: 502,
      body: { jsonrpc: '2.0', id: 9, error: { code: -32603, message: 'Bad Gateway: the node did not answer' } },
    })
    expect(gotBy()).toEqual([2, 2, 2])
  })
})

describe('a batch of which some calls are refused', () => {
  const batch = [
    { jsonrpc: '2.0', id: 1, method: 'eth_chainId' },
    { jsonrpc: '2.0', id: 2, method: 'admin_peers' },
    { jsonrpc: '2.0', id: 3, method: 'eth_blockNumber' },
  ]
  const refusal = { jsonrpc: '2.0', id: 2, error: { code: -32601, message: 'Method not allowed: admin_peers' } }

  test('is answered for each of them, and only the others reach a node', async () => {
    const { status, body } = await post(batch)
    expect(status).toBe(200)
    expect(body).toEqual([
      { jsonrpc: '2.0', id: 1, result: '0x2a' },
      refusal,
      { jsonrpc: '2.0', id: 3, result: '0x2a' },
    ])
    const sent = nodes.flatMap((node) => node.got.map((got) => JSON.parse(got.body) as Rpc[]))
    expect(sent.map((calls) => calls.map(({ method }) => method))).toEqual([['eth_chainId', 'eth_blockNumber']])
  })

  test('is answered whole where the answer is long, and where it is no list', async () => {
    const long = 'x'.repeat(200_000)
    for (const node of nodes) node.answer = (_got, response) => sendJson(response, [{ id: 1, result: long }])
    // What is streamed begins before it is known where its parts are.
    expect((await post(batch)).body).toEqual([refusal, { id: 1, result: long }])
    for (const node of nodes) node.answer = (_got, response) => sendJson(response, { error: { code: 1 } })
    expect((await post(batch)).body).toEqual([refusal, { error: { code: 1 } }])
    for (const node of nodes) node.answer = (_got, response) => response.end(' [ ] ')
    expect((await post(batch)).body).toEqual([refusal])
  })

  test('has 403 where all are refused', async () => {
    expect((await post([batch[1], { ...batch[1], id: 4 }])).status).toBe(403)
    expect(gotBy()).toEqual([0, 0, 0])
  })
})

describe('a batch of which a node refuses some calls about our bill', () => {
  const reads = [1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, method: 'eth_chainId' }))
  const bill = { code: 429, message: 'upgrade your plan at https://node.example/KEY' }
  const unanswered = { code: -32603, message: 'Bad Gateway: the node did not answer' }
  /** Whichever node gets the batch first refuses its second call. */
  function refuseSecond(times: number): void {
    let left = times
    const answer: Stub['answer'] = ({ body }, response) => {
      const isRefusing = left-- > 0
      const answerTo = ({ id }: Rpc) =>
        isRefusing && id === 2 ? { jsonrpc: '2.0', id, error: bill } : { jsonrpc: '2.0', id, result: '0x2a' }
      sendJson(response, (JSON.parse(body) as Rpc[]).map(answerTo))
    }
    for (const node of nodes) node.answer = answer
  }
  const answered = (id: number) => ({ jsonrpc: '2.0', id, result: '0x2a' })

  test('is asked of another node, where all of it may be', async () => {
    refuseSecond(1)
    expect((await post(reads)).body).toEqual([1, 2, 3].map(answered))
    expect(gotBy().toSorted()).toEqual([0, 1, 1])
  })

  test('is answered without the words of nodes where all refuse some', async () => {
    refuseSecond(Number.POSITIVE_INFINITY)
    const { status, body } = await post(reads)
    expect(status).toBe(200)
    expect(body).toEqual([answered(1), { jsonrpc: '2.0', id: 2, error: unanswered }, answered(3)])
  })

  test('is asked once where it writes, and what was done is told', async () => {
    refuseSecond(Number.POSITIVE_INFINITY)
    const { body } = await post([{ ...reads[0], method: 'eth_newFilter' }, ...reads.slice(1)])
    expect(body).toMatchObject([
      { id: 1, result: expect.stringMatching(/^0x2a[0-9a-f]{8}$/) },
      { error: unanswered },
      {},
    ])
    expect(gotBy().toSorted()).toEqual([0, 0, 1])
  })
})

describe('a batch with something that is no call', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_chainId' }
  const answered = { jsonrpc: '2.0', id: 1, result: '0x2a' }
  const invalid = (why: string, id: unknown = null) => ({
    ...{ jsonrpc: '2.0', id },
    error: { code: -32600, message: `Invalid Request: ${why}` },
  })
  const noCall = invalid('the batch has something here that is no call')
  const noMethod = invalid('the call has no method')
  const sent = () => nodes.flatMap((node) => node.got.map((got) => got.body))

  test.each([
    ['a number', 1, noCall],
    ['null', null, noCall],
    ['a batch', [{ ...call, method: 'admin_peers' }], noCall],
    ['an object of something else', { foo: 'boo' }, noMethod],
    ['no method, with a number for an id', { id: 5 }, invalid('the call has no method', 5)],
    ['no method, with a text for an id', { id: 'a' }, invalid('the call has no method', 'a')],
    ['no method, with null for an id', { id: null }, noMethod],
    ['no method, with an id that is none', { id: { a: 1 } }, noMethod],
    ['a number for the method', { ...call, id: 6, method: 7 }, invalid('the call has no method', 6)],
    [
      'two methods',
      { id: 2, method: 'a', Method: 'admin_peers' },
      invalid('the call has method twice, or in other letters', 2),
    ],
  ])('is answered for it in its place, and only calls reach a node: %s', async (_what, item, refused) => {
    const last = { jsonrpc: '2.0', id: 9, method: 'eth_blockNumber' }
    expect(await post([call, item, last])).toEqual({
      status: 200,
      body: [answered, refused, { jsonrpc: '2.0', id: 9, result: '0x2a' }],
    })
    expect(await post([item, call])).toEqual({ status: 200, body: [refused, answered] })
    expect(await post([call, item])).toEqual({ status: 200, body: [answered, refused] })
    const asked = [JSON.stringify([call]), JSON.stringify([call]), JSON.stringify([call, last])]
    expect(sent().toSorted()).toEqual(asked.toSorted())
  })

  test('is answered for each of these, and the bytes of calls and answers stay', async () => {
    const calls = ['{"jsonrpc":"2.0",  "id":12345678901234567890,"method":"eth_chainId"}', '{"method":"eth_call"}']
    const answer = '[ { "result":"0x1",  "id" : 12345678901234567890} ]\n'
    for (const node of nodes) node.answer = (_got, response) => response.end(answer)
    const body = `[1, ${calls[0]},{"foo": "boo"}\n,${calls[1]},{}]`
    const response = await gateway.ask(place, { method: 'POST', body })
    expect([response.status, await response.text()]).toEqual([
      200,
      `[ ${JSON.stringify(noCall)},{ "result":"0x1",  "id" : 12345678901234567890},${JSON.stringify(noMethod)},${JSON.stringify(noMethod)} ]\n`,
    ])
    expect(sent()).toEqual([`[${calls.join(',')}]`])
  })

  test('is answered where it is all of it, and where nothing else wants an answer', async () => {
    expect(await post([1])).toEqual({ status: 200, body: [noCall] })
    expect(await post([1, 2, 3])).toEqual({ status: 200, body: [noCall, noCall, noCall] })
    expect(sent()).toEqual([])
    for (const node of nodes) node.answer = (_got, response) => response.writeHead(204).end()
    expect(await post([{ jsonrpc: '2.0', method: 'eth_chainId' }, 1])).toEqual({ status: 200, body: [noCall] })
  })

  test('is answered beside calls that nobody may call, and is refused with the others where no node answers', async () => {
    const refused = { jsonrpc: '2.0', id: 2, error: { code: -32601, message: 'Method not allowed: admin_peers' } }
    const asked = [1, { jsonrpc: '2.0', id: 2, method: 'admin_peers' }]
    expect(await post([...asked, call])).toEqual({ status: 200, body: [noCall, refused, answered] })
    expect(await post(asked)).toEqual({ status: 403, body: [noCall, refused] })
    for (const node of nodes) node.answer = (_got, response) => response.destroy()
    const { status, body } = await post([call, { id: 5 }])
    expect([status, (body as { id: number }[]).map(({ id }) => id)]).toEqual([502, [1, 5]])
  })

  test('counts as one of its hundred', async () => {
    expect((await post(Array.from({ length: 101 }, () => 1))).status).toBe(413)
    expect(((await post(Array.from({ length: 100 }, () => 1))).body as unknown[]).length).toBe(100)
  })
})

describe('calls with CONSISTENT-HASH', () => {
  const TOKENS = Array.from({ length: 40 }, (_, i) => `consistent-${i}`)
  const wellNodes = () => gateway.upstreams.groupOf({ protocol: 'ethereum', network: 'mainnet' })?.all().length
  const ask = async (token: string, headers: Readonly<Record<string, string>>) => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
    const response = await gateway.ask(place, { token, method: 'POST', body, headers })
    expect(response.status, await response.text()).toBe(200)
    return response.headers.get('x-node-id')
  }
  const consistent = (token: string, from = '203.0.113.1') =>
    ask(token, { 'CONSISTENT-HASH': 'true', 'x-forwarded-for': from })
  const nodesOfAll = async () =>
    new Map(await Promise.all(TOKENS.map(async (one) => [one, await consistent(one)] as const)))

  test('go to one node by their token, whoever sends them, which the answer names; one that is lost moves its own tokens alone', async () => {
    const key = { account: 'demo', version: 1, is_deleted: 0 }
    const rows = TOKENS.map((token) => ({ ...key, token_hash: hashToken(token) }))
    await insertRows(gateway.given.warehouse, 'access_tokens', rows)
    await expect.poll(wellNodes, { interval: 20 }).toBe(3)
    const before = await nodesOfAll()
    expect(new Set(before.values()).size).toBe(3)
    const [token = ''] = TOKENS
    for (const node of nodes) node.got.length = 0
    for (let i = 0; i < 9; i++) expect(await consistent(token, `198.51.100.${i}`)).toBe(before.get(token))
    expect(gotBy().toSorted()).toEqual([0, 0, 9])
    for (const node of nodes) node.got.length = 0
    for (let i = 0; i < 30; i++) expect(await ask(token, {})).toBeNull()
    expect(gotBy().filter((count) => count > 0).length).toBeGreaterThan(1)

    const lost = nodes[1] as Stub
    lost.identity = '0x5'
    await expect.poll(wellNodes, { interval: 20 }).toBe(2)
    const after = await nodesOfAll()
    const left = new Set(after.values())
    expect(left.size).toBe(2)
    const isOfOthers = ([, node]: readonly [string, string | null]) => left.has(node)
    expect(new Map([...after].filter(([one]) => left.has(before.get(one) ?? null)))).toEqual(
      new Map([...before].filter(isOfOthers)),
    )
    lost.identity = '0x1'
    await expect.poll(wellNodes, { interval: 20 }).toBe(3)
    expect(await nodesOfAll()).toEqual(before)
  })
})
