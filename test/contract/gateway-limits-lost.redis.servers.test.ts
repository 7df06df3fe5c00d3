import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Meter } from '../../api/gateway/meter.ts'
import { openApi } from '../../api/http/server.ts'
import { openRedisCounters } from '../../infra/counters/redis.ts'
import { openUpstreams } from '../../infra/upstreams/upstreams.ts'
import { freePort } from '../servers/child-server.ts'
import { type RedisServer, startRedis } from '../servers/redis.ts'
import { silentLog } from '../unit/silent-log.ts'
import { openGivenApi, TOKEN } from './given-api.ts'
import { networkOn, openStub, type Stub, untilHealthy } from './given-gateway.ts'
import { withServer } from './test-servers.ts'

// Two processes that count in one Redis, which is killed and comes back with what it had written. One of their own: nobody else's may die.

const PLACE = 'ethereum/mainnet'
const NOON = Date.parse('2026-11-20T04:00:00Z')
const QUOTA = 250
/** A lease is a hundredth of a quota, and ten at least. */
const LEASE = 10
const BACK = { interval: 50 }
const COUNTED_NOT = 'Service Unavailable: requests cannot be counted at the moment'

withServer('redis', () => {
  let open: AsyncDisposableStack
  let node: Stub
  let urls: readonly string[]
  let redis: RedisServer
  let startAgain: () => Promise<RedisServer>
  beforeEach(async () => {
    open = new AsyncDisposableStack()
    const directory = await mkdtemp(join(tmpdir(), 'epochline-redis-'))
    open.defer(() => rm(directory, { recursive: true, force: true }))
    const port = await freePort()
    startAgain = async () => {
      const started = await startRedis({ directory, port, install: false, isDurable: true })
      if ('missing' in started) throw new Error(started.missing)
      return open.use(started)
    }
    redis = await startAgain()
    node = open.use(await openStub('ethereum', 'mainnet'))
    const given = open.use(await openGivenApi())
    const upstreams = open.use(
      openUpstreams({ networks: [networkOn(PLACE, node)], log: silentLog, secret: 'secret', probeMs: 100 }),
    )
    const openOne = async (): Promise<string> => {
      const counters = open.use(await openRedisCounters({ redisUrl: redis.address, prefix: 'test:' }))
      const planOf = () => ({ name: 'exact', requestsPerDay: QUOTA })
      const ofNoon = { counters, clientCounters: counters, planOf, log: silentLog, now: () => NOON }
      const meter = open.use(new Meter(ofNoon))
      const api = open.use(await openApi({ ...given.partsOf([]), upstreams, meter, host: '127.0.0.1', port: 0 }))
      return api.url
    }
    urls = [await openOne(), await openOne()]
    await untilHealthy({ upstreams }, PLACE)
  })
  afterEach(() => open.disposeAsync())

  async function call(url: string | undefined, place = `${PLACE}/${TOKEN}`) {
    const body = '{"jsonrpc":"2.0","id":7,"method":"eth_chainId"}'
    const response = await fetch(`${url}/${place}`, { method: 'POST', body })
    const { error } = (await response.json()) as { readonly error?: { readonly message: string } }
    return { status: response.status, message: error?.message }
  }

  /** Calls at one process until an answer is another one than the node's; resolves with it. */
  async function callUntilRefused(url: string | undefined) {
    for (;;) {
      const answer = await call(url)
      if (answer.status !== 200) return answer
    }
  }

  const LOST = { status: 503, message: COUNTED_NOT }

  test('while Redis is killed what is leased passes and nothing else, clients without a key at once not, and then exactly the rest of the day', async () => {
    for (let i = 0; i < 100; i++) expect(await call(urls[i % 2])).toMatchObject({ status: 200 })
    await redis.stop('SIGKILL')
    for (const url of urls) expect(await call(url, `public/${PLACE}`)).toEqual(LOST)
    for (const url of urls) expect(await callUntilRefused(url)).toEqual(LOST)
    expect(node.got.length).toBeGreaterThanOrEqual(100)
    expect(node.got.length).toBeLessThan(100 + 2 * LEASE)
    for (const url of urls) expect(await call(url)).toEqual(LOST)

    await startAgain()
    for (const url of urls) await expect.poll(() => call(url), BACK).toMatchObject({ status: 200 })
    expect(await call(urls[0], `public/${PLACE}`)).toMatchObject({ status: 200 })
    const ofPublic = 1
    for (const url of urls) expect(await callUntilRefused(url)).toMatchObject({ status: 429 })
    expect(node.got).toHaveLength(QUOTA + ofPublic)
  })

  test('where it is killed again and again amid calls, no more than the day’s pass, and none is lost but what was being leased', async () => {
    const KILLS = 3
    let isOver = false
    const callers = Array.from({ length: 20 }, async (_, i) => {
      while (!isOver) isOver ||= (await call(urls[i % 2])).status === 429
    })
    for (let kill = 1; kill <= KILLS; kill++) {
      await expect.poll(() => node.got.length, { ...BACK, interval: 1 }).toBeGreaterThan(kill * 40)
      await redis.stop('SIGKILL')
      await expect.poll(() => call(urls[kill % 2]), BACK).toEqual(LOST)
      redis = await startAgain()
    }
    await Promise.all(callers)
    for (const url of urls) await callUntilRefused(url)
    expect(node.got.length).toBeLessThanOrEqual(QUOTA)
    // Of each process one lease for each kill, which may have been asked for twice.
    expect(node.got.length).toBeGreaterThanOrEqual(QUOTA - KILLS * urls.length * 2 * LEASE)
  })
})
