import { expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import type { ChainNews } from '../../infra/ports/beacon-source.ts'
import { silentLog } from './silent-log.ts'
import {
  CHECKPOINT,
  chainAnswers,
  FAST,
  GENESIS_ROOT,
  headEvent,
  headerAnswer,
  onHead,
  openNode,
  openStreams,
} from './synthetic-beacon.ts'
import { openSyntheticNode } from './synthetic-node.ts'

// What a source's thread must carry over besides answers; the answers themselves are the matter of devnet-beacon-source.

test('a node fault keeps its code, and the status tells of it', async () => {
  await using node = await openNode(onHead({ reset: true }))
  await using source = await openBeaconSource({ urls: [node.url], log: silentLog, limits: FAST })
  expect(source.status()).toEqual([{ name: 'beacon node 1', state: 'unknown' }])
  await expect(source.head()).rejects.toMatchObject({
    name: 'AppError',
    code: 'node_unreachable',
    retryable: true,
    message: expect.stringMatching(/^beacon node 1 /),
  })
  expect(source.status()).toMatchObject([{ name: 'beacon node 1', state: 'away', fault: 'node_unreachable' }])
})

test('another server in the place of a node counts as lost, and is told as such', async () => {
  const html = { headers: { 'content-type': 'text/html' }, body: Buffer.from('<html>Not Found</html>') }
  await using node = await openNode(() => ({ status: 404, ...html }))
  await using source = await openBeaconSource({ urls: [node.url], log: silentLog, limits: FAST })
  await expect(source.chain()).rejects.toThrow(/^beacon node 1 has no configuration to tell.*another server/)
  expect(source.status()).toMatchObject([{ state: 'away', fault: 'node_malformed' }])
})

test('the log is told what the thread has to say', async () => {
  await using broken = await openNode(onHead({ reset: true }))
  await using sound = await openNode(onHead(headerAnswer))
  const warnings: string[] = []
  const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) }
  await using source = await openBeaconSource({ urls: [broken.url, sound.url], log, limits: FAST })
  expect(await source.head()).toMatchObject({ slot: 99 })
  expect(warnings).toEqual([expect.stringMatching(/^beacon node 1 is lost: did not answer /)])
  expect(source.status()).toMatchObject([{ state: 'away' }, { state: 'up' }])
})

test('an address that is none is refused at once, without telling it', async () => {
  await expect(openBeaconSource({ urls: ['localhost:5052'], log: silentLog })).rejects.toMatchObject({
    code: 'config',
    message: expect.not.stringContaining('localhost:5052'),
  })
})

test('sets of validators are told apart, however many there are', async () => {
  await using node = await openNode((path, { body }) => {
    if (!path.endsWith('/validator_balances')) return undefined
    return { json: { data: (JSON.parse(body) as string[]).map((index) => ({ index, balance: `${index}000` })) } }
  })
  await using source = await openBeaconSource({ urls: [node.url], log: silentLog, limits: FAST })
  const sets = Array.from({ length: 40 }, (_, i) => Uint32Array.of(i, i + 100))
  // Twice: the second time, most of them have been forgotten meanwhile.
  for (const some of [sets, sets]) {
    const balances = await Promise.all(some.map((set) => source.finalChain(CHECKPOINT).balances(32, set)))
    expect(balances.map(({ validatorIndex }) => validatorIndex)).toEqual(sets)
    expect(balances.map(({ balanceGwei }) => balanceGwei[1])).toEqual(sets.map((set) => BigInt(set[1] ?? 0) * 1_000n))
  }
})

test('watching ends with its signal, and no news come after it', async () => {
  await using node = await openStreams([headEvent(7, GENESIS_ROOT).repeat(5)])
  await using source = await openBeaconSource({ urls: [node.url], log: silentLog, limits: FAST })
  const stop = new AbortController()
  const news: ChainNews[] = []
  await source.watch((one) => {
    news.push(one)
    if (one.kind === 'head') stop.abort()
  }, stop.signal)
  expect(news).toEqual([{ kind: 'gap' }, { kind: 'head', slot: 7, root: GENESIS_ROOT }])
  await source.watch((one) => void news.push(one), stop.signal)
  expect(news).toHaveLength(2)
})

test('whoever watches at the same time shares one event stream, and may leave it alone', async () => {
  const heads = Promise.withResolvers<void>()
  let streams = 0
  await using node = await openSyntheticNode(({ path }, response) => {
    const asked = path.replace('/base', '').split('?')[0] ?? ''
    if (asked !== '/eth/v1/events') return chainAnswers(asked, GENESIS_ROOT)
    streams++
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(headEvent(7, GENESIS_ROOT))
    void heads.promise.then(() => response.write(headEvent(8, GENESIS_ROOT)))
    return undefined
  })
  await using source = await openBeaconSource({ urls: [node.url], log: silentLog, limits: FAST })
  const watch = (slot: number) => {
    const stop = new AbortController()
    const news: ChainNews[] = []
    const arrived = Promise.withResolvers<void>()
    const ended = source.watch((one) => {
      news.push(one)
      if (one.kind === 'head' && one.slot === slot) arrived.resolve()
    }, stop.signal)
    return { stop, news, ended, arrived: arrived.promise }
  }
  const [first, last] = [watch(7), watch(8)]
  await first.arrived
  const late = watch(8)
  expect(late.news).toEqual([{ kind: 'gap' }])
  first.stop.abort()
  await first.ended
  heads.resolve()
  await Promise.all([last.arrived, late.arrived])
  expect(streams).toBe(1)
  expect(first.news.at(-1)).toMatchObject({ slot: 7 })
  expect(late.news.at(-1)).toMatchObject({ slot: 8 })
  for (const { stop, ended } of [last, late]) {
    stop.abort()
    await ended
  }
  const again = watch(7)
  await again.arrived
  expect(streams).toBe(2)
  again.stop.abort()
  await again.ended
})

test('whoever still waits when the source is closed is told, and so is whoever asks after it', async () => {
  await using node = await openNode(onHead({ hang: true }))
  const source = await openBeaconSource({ urls: [node.url], log: silentLog, limits: { headersTimeoutMs: 60_000 } })
  const waiting = expect(source.head()).rejects.toThrow()
  await source.chain()
  await source[Symbol.asyncDispose]()
  await waiting
  await expect(source.head()).rejects.toMatchObject({ code: 'usage', message: 'The beacon source is closed.' })
  await source[Symbol.asyncDispose]()
})
