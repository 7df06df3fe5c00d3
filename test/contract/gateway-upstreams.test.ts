import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type GivenGateway,
  networkOn,
  openGivenGateway,
  openStub,
  rpcAnswer,
  type Stub,
  untilHealthy,
} from './given-gateway.ts'

const PLACE = 'ethereum/mainnet'
const ARCHIVED = 'bsc/mainnet'
const nodes: Stub[] = []
let full: Stub
let archive: Stub
let gateway: GivenGateway
beforeAll(async () => {
  for (let i = 0; i < 2; i++) nodes.push(await openStub('ethereum', 'mainnet'))
  full = await openStub('bsc', 'mainnet')
  archive = await openStub('bsc', 'mainnet')
  const archived = networkOn(ARCHIVED, full, archive)
  gateway = await openGivenGateway([
    { ...networkOn(PLACE, ...nodes), hedge: true },
    { ...archived, upstreams: archived.upstreams.map((one, i) => ({ ...one, isArchive: i === 1 })) },
  ])
  await untilHealthy(gateway, PLACE)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  for (const stub of [...nodes, full, archive]) await stub[Symbol.asyncDispose]()
})
beforeEach(async () => {
  for (const protocol of ['ethereum', 'bsc']) await expect.poll(() => wellOf(protocol), { interval: 20 }).toBe(2)
  for (const stub of [...nodes, full, archive]) {
    stub.answer = rpcAnswer
    stub.got.length = 0
  }
})
const wellOf = (protocol: string) => gateway.upstreams.groupOf({ protocol, network: 'mainnet' })?.all().length
const sent = () => nodes.reduce((sum, { got }) => sum + got.length, 0)

async function callMany(calls: number, method = 'eth_chainId', concurrency = 50): Promise<readonly number[]> {
  const statuses: number[] = []
  let left = calls
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const response = await gateway.call(PLACE, method)
      await response.arrayBuffer()
      statuses.push(response.status)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, caller))
  return statuses
}

describe('a call that needs an old state', () => {
  const ask = () => gateway.call(ARCHIVED, 'eth_getBalance', ['0x0', 'earliest'])

  test('goes to archives, and where there is none that is well to others', async () => {
    // By its speed alone nobody would choose it.
    archive.answer = (got, response) => setTimeout(() => rpcAnswer(got, response), 30)
    for (let i = 0; i < 10; i++) expect((await ask()).status).toBe(200)
    expect([full.got.length, archive.got.length]).toEqual([0, 10])
    archive.identity = '0x1'
    await expect.poll(() => wellOf('bsc'), { interval: 20 }).toBe(1)
    expect((await ask()).status).toBe(200)
    expect(full.got).toHaveLength(1)
    archive.identity = '0x38'
  })

  test('goes to others where the archive dies of it', async () => {
    archive.answer = (_got, response) => response.destroy()
    expect((await ask()).status).toBe(200)
    expect([full.got.length, archive.got.length]).toEqual([1, 1])
  })
})

describe('a read that is slow', () => {
  /** Of each call the first node that gets it says nothing; resolves with how many such calls were given up. */
  function stallFirst(): { given: number } {
    const seen = new Set<string>()
    const up = { given: 0 }
    for (const node of nodes)
      node.answer = (got, response) => {
        if (seen.has(got.body)) rpcAnswer(got, response)
        else {
          seen.add(got.body)
          response.on('close', () => up.given++)
        }
      }
    return up
  }
  const post = (id: number, method: string, init: RequestInit = {}) =>
    gateway.ask(PLACE, { ...init, method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id, method, params: [] }) })

  test('is answered by a second node, and given up at the first one', async () => {
    await callMany(300)
    const up = stallFirst()
    for (const node of nodes) node.got.length = 0
    for (let id = 1; id <= 5; id++) expect(await (await post(id, 'eth_chainId')).json()).toMatchObject({ id })
    expect(nodes.map(({ got }) => got.length)).toEqual([5, 5])
    await expect.poll(() => up.given).toBe(5)
  })

  test.each([
    ['a write', 'eth_newFilter', {}],
    ['a method that nobody knows', 'eth_fancy', {}],
    ['what is to go to one node', 'eth_chainId', { 'CONSISTENT-HASH': 'true' }],
  ])('is not sent twice where it is %s', async (_what, method, headers) => {
    stallFirst()
    const stop = new AbortController()
    const asked = post(1, method, { headers, signal: stop.signal })
    asked.catch(() => {})
    await expect.poll(sent).toBe(1)
    // Twice as long as the shortest time after which a second node is asked.
    await wait(250)
    stop.abort()
    await expect(asked).rejects.toThrow()
    expect(sent()).toBe(1)
  })

  test('is answered by the second node where the first one dies meanwhile, and by the first one where the second does', async () => {
    await callMany(100)
    for (const slowDies of [true, false]) {
      let first: Stub | undefined
      for (const node of nodes)
        node.answer = (got, response) => {
          const isFirst = first === undefined
          first ??= node
          setTimeout(() => (isFirst === slowDies ? response.destroy() : rpcAnswer(got, response)), isFirst ? 200 : 150)
        }
      expect((await gateway.call(PLACE, 'eth_chainId')).status).toBe(200)
    }
  })
})

test('a running node that stops advancing is left out when the others have advanced twice, and is back when it moves', async () => {
  const [stuck, moving] = nodes as [Stub, Stub]
  const group = gateway.upstreams.groupOf({ protocol: 'ethereum', network: 'mainnet' })
  for (let i = 0; i < 2; i++) {
    expect(wellOf('ethereum')).toBe(2)
    moving.head++
    await expect.poll(() => group?.head, { interval: 10 }).toBe(moving.head)
  }
  await expect.poll(() => wellOf('ethereum'), { interval: 10 }).toBe(1)
  // Longer than the time after which a second node would be asked: what is late is still better than what is old.
  moving.answer = (got, response) => setTimeout(() => rpcAnswer(got, response), 250)
  expect(await callMany(20)).toEqual(Array(20).fill(200))
  expect([stuck.got.length, moving.got.length]).toEqual([0, 20])
  stuck.head++
  await expect.poll(() => wellOf('ethereum'), { interval: 10 }).toBe(2)
})

test('where all nodes fail, at once or slowly, at most 1.2 calls are sent for one of a client’s', async () => {
  const CALLS = 2_000
  let asked = 0
  for (const node of nodes)
    node.answer = (_got, response) => {
      if (asked++ % 10 === 0) setTimeout(() => response.destroy(), 150)
      else response.destroy()
    }
  const statuses = await callMany(CALLS)
  expect(new Set(statuses)).toEqual(new Set([502]))
  expect(sent()).toBeGreaterThanOrEqual(CALLS)
  expect(sent()).toBeLessThanOrEqual(1.2 * CALLS)
})
