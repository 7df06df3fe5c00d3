import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Meter } from '../../api/gateway/meter.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import type { Counters } from '../../infra/ports/counters.ts'
import { type OpenUpstreams, openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { DEFAULT_PLAN, type Plan } from '../../schemas/plans.ts'
import { silentLog } from '../unit/silent-log.ts'
import { insertRows, MAINNET } from './api-fixture.ts'
import { type GivenApi, openGivenApi } from './given-api.ts'
import { networkOn, openStub, rpcAnswer, type Stub, sendJson, untilHealthy } from './given-gateway.ts'

/** What all processes of an installation share. */
export interface SharedCounters extends AsyncDisposable {
  /** Of one process. */
  open(): Promise<Counters>
}

const PLANS: Readonly<Record<string, Plan>> = {
  exact: { name: 'exact', requestsPerDay: 250 },
  shared: { name: 'shared', requestsPerDay: 6 },
  failing: { name: 'failing', requestsPerDay: 3 },
  hasty: { name: 'hasty', requestsPerSecond: 3 },
  batches: { name: 'batches', requestsPerDay: 5 },
  revoked: { name: 'revoked' },
}
const NOON = Date.parse('2026-11-20T04:00:00Z')

/** Limits of the whole API in two processes, over HTTP. */
export function limitsContract(name: string, openShared: () => Promise<SharedCounters>): void {
  describe(`limits over ${name}`, () => {
    let node: Stub
    let filecoin: Stub
    let given: GivenApi
    let upstreams: OpenUpstreams
    let apis: readonly Api[]
    const open = new AsyncDisposableStack()
    beforeAll(async () => {
      const shared = open.use(await openShared())
      node = open.use(await openStub('ethereum', 'mainnet'))
      filecoin = open.use(await openStub('filecoin', 'mainnet'))
      given = open.use(await openGivenApi())
      const tokens = Object.keys(PLANS).flatMap((account) =>
        [`${account}-1`, `${account}-2`].map((key) => [account, key]),
      )
      await insertRows(
        given.warehouse,
        'access_tokens',
        tokens.map(([account = '', key = '']) => ({ token_hash: hashToken(key), account, version: 1, is_deleted: 0 })),
      )
      const networks = [networkOn('ethereum/mainnet', node), networkOn('filecoin/mainnet', filecoin)]
      upstreams = open.use(openUpstreams({ networks, log: silentLog, secret: 'secret', probeMs: 100 }))
      const openOne = async (): Promise<Api> => {
        const counters = open.use(await shared.open())
        const planOf = (account: string): Plan => PLANS[account] ?? { name: DEFAULT_PLAN }
        const meter = open.use(
          new Meter({
            ...{ counters, clientCounters: counters, planOf, log: silentLog, now: () => NOON },
            trustedProxies: ['127.0.0.1'],
          }),
        )
        const parts = { ...given.partsOf([MAINNET]), upstreams, meter }
        return open.use(await openApi({ ...parts, host: '127.0.0.1', port: 0 }))
      }
      apis = [await openOne(), await openOne()]
      for (const place of ['ethereum/mainnet', 'filecoin/mainnet']) await untilHealthy({ upstreams }, place)
    })
    afterAll(() => open.disposeAsync())

    const at = (number: number): string => (apis[number % 2] as Api).url
    const call = (key: string, number = 0, body: unknown = { jsonrpc: '2.0', id: 7, method: 'eth_chainId' }) =>
      fetch(`${at(number)}/ethereum/mainnet/${key}`, { method: 'POST', body: JSON.stringify(body) })
    const headersOf = ({ headers }: Response) =>
      ['retry-after', 'ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'].map((one) =>
        Number(headers.get(one)),
      )

    test('exactly the day’s calls pass, of 100 clients at two processes', async () => {
      node.got.length = 0
      let passed = 0
      const client = async (number: number): Promise<void> => {
        for (;;) {
          const response = await call(`exact-${1 + (number % 2)}`, number)
          await response.text()
          if (response.status === 429) return
          expect(response.status).toBe(200)
          passed++
        }
      }
      await Promise.all(Array.from({ length: 100 }, (_, number) => client(number >> 1)))
      expect([passed, node.got.length]).toEqual([250, 250])
    })

    test('a batch that is larger than the day is told so in JSON-RPC, to each call with its id', async () => {
      const response = await call(
        'batches-1',
        0,
        [1, 2, 3, 4, 5, 6].map((id) => ({ id, method: 'eth_chainId' })),
      )
      const untilMidnight = 12 * 3_600
      expect([response.status, headersOf(response)]).toEqual([429, [untilMidnight, 5, 5, untilMidnight]])
      const errorOf = (words: string, left: object) => ({
        ...{ code: -32005, message: `Too Many Requests: ${words}` },
        data: { reason: 'daily_quota', retry_after: untilMidnight, ...left },
      })
      const error = errorOf('a batch of 6 calls never passes, the day has 5', { remaining: 5 })
      expect(await response.json()).toEqual([1, 2, 3, 4, 5, 6].map((id) => ({ jsonrpc: '2.0', id, error })))
      expect(
        (
          await call(
            'batches-1',
            0,
            [1, 2, 3, 4].map((id) => ({ id, method: 'eth_chainId' })),
          )
        ).status,
      ).toBe(200)
      const two = await call(
        'batches-1',
        0,
        [1, 2].map((id) => ({ id, method: 'eth_chainId' })),
      )
      const tooMany = errorOf('the batch has 2 calls, and 1 is left of the day', { remaining: 1 })
      expect(await two.json()).toEqual([1, 2].map((id) => ({ jsonrpc: '2.0', id, error: tooMany })))
      expect((await call('batches-2')).status).toBe(200)
      const usedUp = await (await call('batches-1')).json()
      expect(usedUp).toMatchObject({ error: errorOf('the requests of the day are used up', {}) })
    })

    test('what one service spends is gone for the others, and each tells it in its own way', async () => {
      const key = 'shared-1'
      const api = `${at(1)}/ethereum/mainnet/${key}`
      const rest = () => fetch(`${api}/api/v1/validator/total-rewards`)
      const graphql = () =>
        fetch(`${api}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"query":"{ __typename }"}',
        })
      const nft = () => fetch(`${at(1)}/nft/${MAINNET.names.nftName}/${key}/getContractMetadata`)
      expect((await rest()).status).toBeLessThan(429)
      expect((await graphql()).status).toBeLessThan(429)
      expect((await nft()).status).toBe(400)
      const left = [await call(key), await call(key), await call(key), await call(key)]
      expect(left.map(({ status }) => status)).toEqual([200, 200, 200, 429])
      const nftLimited = await nft()
      expect([nftLimited.status, nftLimited.headers.get('x-reason'), headersOf(nftLimited)]).toEqual([
        ...[429, 'daily_quota', [43_200, 6, 0, 43_200]],
      ])
      expect(await nftLimited.json()).toMatchObject({ code: 429, message: 'Too Many Requests', data: null })
      const limited = await rest()
      expect([limited.status, limited.headers.get('x-reason')]).toEqual([429, 'daily_quota'])
      expect(headersOf(limited)).toEqual([43_200, 6, 0, 43_200])
      const msg = 'Too Many Requests: the requests of the day are used up'
      expect(await limited.json()).toEqual({ code: '429', msg, data: null, reason: 'daily_quota' })
      expect(await (await graphql()).json()).toMatchObject({ code: '429', reason: 'daily_quota' })
    })

    test('calls that no node answers are not counted', async () => {
      node.answer = (_got, response) => response.destroy()
      for (let i = 0; i < 5; i++) expect((await call('failing-1')).status).toBeGreaterThanOrEqual(502)
      expect((await call('failing-1', 0, { id: 1, method: 'admin_peers' })).status).toBe(403)
      node.answer = (_got, response) => sendJson(response, { id: 1, error: { code: -5 } }, 500)
      expect((await call('failing-1')).status).toBe(500)
      node.answer = rpcAnswer
      // Nodes that fail rest: what is not asked is not counted either.
      const statuses: number[] = []
      for (const end = performance.now() + 20_000; statuses.length < 3 && performance.now() < end; ) {
        const { status } = await call('failing-1')
        if (status < 500) statuses.push(status)
        else await new Promise((resolve) => setTimeout(resolve, 100))
      }
      expect(statuses).toEqual([200, 200, 429])
    })

    test('a key that asks too often in a second is told when it may again', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => call('hasty-1')))
      const limited = answers.filter(({ status }) => status === 429)
      expect(limited.length).toBeGreaterThanOrEqual(4)
      const [first] = limited as [Response]
      expect(headersOf(first)).toEqual([1, 3, 0, 1])
      expect(await first.json()).toMatchObject({ id: 7, error: { data: { reason: 'rate_limit', retry_after: 1 } } })
      // Another key of the account has a second of its own.
      expect((await call('hasty-2')).status).toBe(200)
    })

    test('a revoked key is refused before anything is taken', async () => {
      expect((await call('revoked-1')).status).toBe(200)
      const revoked = { token_hash: hashToken('revoked-1'), account: 'revoked', version: 2, is_deleted: 1 }
      await insertRows(given.warehouse, 'access_tokens', [revoked])
      const end = performance.now() + 2_000
      let status = 200
      while (status === 200 && performance.now() < end) status = (await call('revoked-1')).status
      expect(status).toBe(401)
    })

    test('a client without a key has sixty calls a minute, at all processes together', async () => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'Filecoin.ChainHead' })
      const ask = (number: number, client = '203.0.113.5') =>
        fetch(`${at(number)}/public/filecoin/mainnet/rpc/v1`, {
          method: 'POST',
          headers: { 'x-forwarded-for': `198.51.100.${number % 250}, ${client}` },
          body,
        })
      filecoin.got.length = 0
      const answers = await Promise.all(Array.from({ length: 90 }, (_, number) => ask(number)))
      const statuses = answers.map(({ status }) => status)
      expect([statuses.filter((one) => one === 200).length, filecoin.got.length]).toEqual([60, 60])
      const limited = answers.find(({ status }) => status === 429) as Response
      expect(headersOf(limited)).toEqual([60, 60, 0, 60])
      expect(await limited.json()).toMatchObject({ id: 7, error: { code: -32005, data: { reason: 'ip_limit' } } })
      expect((await ask(0, '203.0.113.6')).status).toBe(200)
    })

    test('each request of a client without a key counts, and none is looked into any more when its minute is over', async () => {
      const ask = async (body: string, client = '203.0.113.7') => {
        const headers = { 'x-forwarded-for': client }
        const response = await fetch(`${at(0)}/public/ethereum/mainnet`, { method: 'POST', headers, body })
        const { id, error } = (await response.json()) as { id: unknown; error?: { data?: { reason: string } } }
        return [response.status, id, error?.data?.reason]
      }
      const callOf = (more = '') => `{"id":7,"method":"eth_chainId"${more}}`
      const asked = [
        await ask('{'),
        await ask('[1,2,3'),
        await ask('{"id":7,"method":"admin_peers"}'),
        await ask(callOf(',"a":1'.repeat(64))),
        await ask(' '.repeat(2 * 1024 * 1024 + 1)),
        await ask(callOf()),
      ]
      expect(asked.map(([status]) => status)).toEqual([400, 400, 403, 400, 413, 200])
      for (let i = asked.length; i < 60; i++) expect((await ask('{'))[0]).toBe(400)
      node.got.length = 0
      expect(await ask('{')).toEqual([429, null, 'ip_limit'])
      expect(await ask(callOf())).toEqual([429, 7, 'ip_limit'])
      expect(await ask(callOf(`,"params":["${'x'.repeat(100_000)}"]`))).toEqual([429, null, 'ip_limit'])
      expect(node.got).toEqual([])
      expect(await ask(callOf(), '203.0.113.8')).toEqual([200, 7, undefined])
    })

    test('a batch of a client without a key counts its calls, of which the first one is counted before', async () => {
      const ask = async (calls: number) => {
        const batch = Array.from({ length: calls }, (_, id) => ({ id, method: 'eth_chainId' }))
        const headers = { 'x-forwarded-for': '203.0.113.9' }
        const init = { method: 'POST', headers, body: JSON.stringify(batch) }
        const response = await fetch(`${at(0)}/public/ethereum/mainnet`, init)
        const [first] = (await response.json()) as readonly { readonly error?: { readonly message: string } }[]
        return [response.status, first?.error?.message]
      }
      expect(await ask(50)).toEqual([200, undefined])
      expect(await ask(20)).toEqual([429, 'Too Many Requests: the batch has 20 calls, and 9 are left of the minute'])
      expect(await ask(9)).toEqual([200, undefined])
      expect(await ask(61)).toEqual([429, expect.stringContaining('the address asks too often in a minute')])
    })
  })
}
