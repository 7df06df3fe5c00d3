import { expect, test } from 'vitest'
import { Meter } from '../../api/gateway/meter.ts'
import { openApi } from '../../api/http/server.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import type { Counters } from '../../infra/ports/counters.ts'
import type { WordsReader } from '../../infra/ports/warehouse.ts'
import { openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { AppError } from '../../schemas/errors.ts'
import { publicAccessOf } from '../../schemas/protocols/public-methods.ts'
import { noCounters } from '../unit/no-counters.ts'
import { noWords } from '../unit/no-words.ts'
import { silentLog } from '../unit/silent-log.ts'
import { MAINNET } from './api-fixture.ts'
import { limitsContract } from './gateway-limits.ts'
import { openGivenApi, TOKEN } from './given-api.ts'
import { networkOn, openStub, untilHealthy } from './given-gateway.ts'

limitsContract('memory', async () => {
  const counters = await openMemoryCounters()
  return {
    open: async () => ({
      take: (...asked) => counters.take(...asked),
      giveBack: (...given) => counters.giveBack(...given),
      async [Symbol.asyncDispose]() {},
    }),
    [Symbol.asyncDispose]: () => counters[Symbol.asyncDispose](),
  }
})

test('while the counters are away nobody passes who has no units leased, and each service says so', async () => {
  const away: Counters = { ...noCounters, take: () => Promise.reject(new AppError('counters', 'Redis: ECONNREFUSED')) }
  await using node = await openStub('ethereum', 'mainnet')
  await using given = await openGivenApi()
  await using upstreams = openUpstreams({
    networks: [networkOn('ethereum/mainnet', node)],
    log: silentLog,
    secret: 'secret',
    probeMs: 100,
  })
  const planOf = () => ({ name: 'default', requestsPerDay: 10 })
  await using meter = new Meter({ counters: away, clientCounters: away, planOf, log: silentLog })
  const parts = { ...given.partsOf([MAINNET]), upstreams, meter }
  await using api = await openApi({ ...parts, host: '127.0.0.1', port: 0 })
  await untilHealthy({ upstreams }, 'ethereum/mainnet')
  const init = { method: 'POST', body: '{"id":3,"method":"eth_chainId"}' }
  const why = 'requests cannot be counted at the moment'
  const error = { code: -32011, message: `Service Unavailable: ${why}` }
  for (const place of [`ethereum/mainnet/${TOKEN}`, 'public/ethereum/mainnet']) {
    const response = await fetch(`${api.url}/${place}`, init)
    expect([response.status, await response.json()]).toEqual([503, { jsonrpc: '2.0', id: 3, error }])
  }
  const rest = await fetch(`${api.url}/ethereum/mainnet/${TOKEN}/api/v1/validator/total-rewards`)
  expect([rest.status, await rest.json()]).toEqual([503, { code: '503', msg: `Service not ready: ${why}`, data: null }])
  expect(node.got).toEqual([])
  expect(publicAccessOf('ethereum', 'mainnet')?.callsPerMinute).toBe(60)
})

test('a question that we fail to answer costs nothing', async () => {
  await using given = await openGivenApi()
  await using counters = await openMemoryCounters()
  const planOf = () => ({ name: 'default', requestsPerDay: 1 })
  await using meter = new Meter({ counters, clientCounters: counters, planOf, log: silentLog })
  let isAway = true
  const warehouse: WordsReader = {
    ...noWords,
    query: (sql, ...asked) =>
      isAway && !/access_tokens|uniqExact\(pubkey\)/.test(sql) // who has which key is known
        ? Promise.reject(new AppError('warehouse', 'away', { retryable: true }))
        : given.warehouse.query(sql, ...asked),
  }
  const parts = { ...given.partsOf([MAINNET]), warehouse, meter }
  await using api = await openApi({ ...parts, host: '127.0.0.1', port: 0 })
  const ask = async () => (await fetch(`${api.url}/ethereum/mainnet/${TOKEN}/api/v1/validator/total-rewards`)).status
  expect([await ask(), await ask()]).toEqual([503, 503])
  isAway = false
  expect(await ask()).toBeLessThan(429)
  expect(await ask()).toBe(429)
})
