import { expect, test } from 'vitest'
import { openChainNodes } from '../../commands/chain-nodes.ts'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../../infra/nodes/nodes.ts'
import { retryAfterMs } from '../../infra/nodes/retry-after.ts'
import type { Log } from '../../infra/ports/log.ts'
import { chainNames } from '../../schemas/chains.ts'
import { AppError } from '../../schemas/errors.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { silentLog } from './silent-log.ts'
import { type Answers, CHECKPOINT, FAST, headerAnswer, headerJson, onHead, openNode } from './synthetic-beacon.ts'
import { type NodeReply, openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

const HEAD = '/eth/v1/beacon/headers/head'
const BALANCES = '/eth/v1/beacon/states/7/validator_balances'
const SET = Uint32Array.of(0)

function openSource(nodes: readonly SyntheticNode[], limits: Partial<NodeLimits> = {}, log: Log = silentLog) {
  return openHttpBeaconSource({ urls: nodes.map(({ url }) => url), log, limits: { ...FAST, ...limits } })
}

/** A log that keeps what is told, with its level. */
function openLines(): { readonly lines: string[]; readonly log: Log } {
  const lines: string[] = []
  const tell = (level: string) => (_: object, message: string) => void lines.push(`${level} ${message}`)
  return { lines, log: { debug: () => undefined, info: tell('info'), warn: tell('warn'), error: tell('error') } }
}

const asked = (node: SyntheticNode, path: string) => node.seen.filter((request) => request.path.includes(path)).length
/** The first replies, then the last one for ever. */
const inTurn = (...replies: readonly NodeReply[]): Answers => {
  let turn = 0
  return (path) => (path === HEAD ? replies[Math.min(turn++, replies.length - 1)] : undefined)
}

test('an answer that comes byte by byte is given up, though it never pauses', async () => {
  await using node = await openNode(onHead({ json: headerJson(), pieceBytes: 1 }))
  await using source = await openSource([node], { bodyFloorMs: 200, bodyBytesPerSecMin: 10_000, retryWithinMs: 100 })
  await expect(source.head()).rejects.toMatchObject({
    code: 'node_unreachable',
    message: expect.stringMatching(/^beacon node 1 answers too slowly \(\d+ bytes in \d+ s\)$/),
  })
  expect(source.status()).toMatchObject([{ state: 'away', fault: 'node_unreachable' }])
})

test('a long answer may take as long as its bytes do at the slowest pace', async () => {
  await using node = await openNode(
    onHead({ json: { ...headerJson(), padding: ' '.repeat(20_000) }, pieceBytes: 1_000 }),
  )
  await using source = await openSource([node], { bodyFloorMs: 50, bodyBytesPerSecMin: 5_000 })
  expect(await source.head()).toMatchObject({ slot: 99 })
})

test('a try that took long is not repeated on the same node', async () => {
  await using node = await openNode(onHead({ hang: true }))
  await using source = await openSource([node], { retryWithinMs: 100 })
  await expect(source.head()).rejects.toMatchObject({ code: 'node_unreachable' })
  expect(asked(node, HEAD)).toBe(1)
})

const NOW_MS = Date.UTC(2026, 0, 10, 12)
test.each([
  ['seconds', '120', 120_000],
  ['a date', 'Sat, 10 Jan 2026 12:00:07 GMT', 7_000],
  ['a date that is past', 'Sat, 10 Jan 2026 11:00:00 GMT', 0],
  ['text', 'soon', 0],
  ['a number below zero', '-1', 0],
])('Retry-After is read: %s', (_, header, expected) => {
  expect(retryAfterMs(header, NOW_MS)).toBe(expected)
})

test.each([429, 503])(
  'a node that answers %i and asks for a pause gets it, and the log tells so once',
  async (status) => {
    await using node = await openNode(inTurn({ status, json: {}, headers: { 'retry-after': '1' } }, headerAnswer))
    const { lines, log } = openLines()
    await using source = await openSource([node], {}, log)
    await source.chain()
    const begunMs = performance.now()
    const heads = await Promise.all([source.head(), source.head()])
    expect(heads).toHaveLength(2)
    expect(performance.now() - begunMs).toBeGreaterThanOrEqual(999)
    expect(lines).toEqual(['warn beacon node 1 asked for a pause of 1 s'])
  },
)

test('a pause is not longer than the longest that a node gets', async () => {
  await using node = await openNode(
    inTurn({ status: 429, json: {}, headers: { 'retry-after': '86400' } }, headerAnswer),
  )
  await using source = await openSource([node], { retryAfterMaxMs: 50 })
  expect(await source.head()).toMatchObject({ slot: 99 })
})

test('while a node has its pause, the others are asked at once', async () => {
  await using main = await openNode(onHead({ status: 503, json: {}, headers: { 'retry-after': '3600' } }))
  await using fallback = await openNode(onHead(headerAnswer))
  await using source = await openSource([main, fallback])
  for (let i = 0; i < 5; i++) expect(await source.head()).toMatchObject({ slot: 99 })
  expect(asked(main, HEAD)).toBe(1)
})

test('an event stream that is not read on gives its connection back', async () => {
  const closed = Promise.withResolvers<void>()
  await using streaming = await openSyntheticNode((_, response) => {
    response.once('close', () => closed.resolve())
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: head\n')
    return undefined
  })
  await using node = new ChainNode('beacon node 1', streaming.url, DEFAULT_LIMITS)
  const pieces = await node.stream('/eth/v1/events', 60_000, new AbortController().signal)
  for await (const _ of pieces) break // as an event does that cannot be read
  await closed.promise
})

test('what a node says in its own words holds nothing of the header that it was shown', async () => {
  const headersSeen: unknown[] = []
  await using refusing = await openSyntheticNode(({ headers }) => {
    headersSeen.push(headers.authorization)
    return { status: 401, json: { message: `not with ${headers.authorization}` } }
  })
  const { host } = new URL(refusing.url)
  const shown = Buffer.from('operator:hünter €22').toString('base64')
  await using node = new ChainNode('node 1', `http://operator:h%C3%BCnter%20%E2%82%AC22@${host}`, DEFAULT_LIMITS)
  const asked = node.request({ method: 'GET', path: '/eth', accept: '*/*' })
  await expect(asked).rejects.toThrow(/HTTP 401 .*not with Basic \(hidden\)/)
  expect(headersSeen[0]).toBe(`Basic ${shown}`)
})

test('what a node says in its own words holds nothing of its address', async () => {
  const key = 'f00dfeedf00dfeed'
  const echo = `Cannot GET /${'x'.repeat(170)}/v3/${key}/eth?apikey=sesame1234 for operator:hunter22 at HOST`
  await using refusing = await openSyntheticNode(({ headers }) => {
    return { status: 400, json: { message: echo.replace('HOST', String(headers.host)) } }
  })
  const { host } = new URL(refusing.url)
  const limits = DEFAULT_LIMITS
  await using node = new ChainNode('node 1', `http://operator:hunter22@${host}/v3/${key}?apikey=sesame1234`, limits)
  await using odd = new ChainNode('node 2', `http://${host}/%zz/%E0%A4%A`, limits)
  expect(odd.quote('GET /%E0%A4%A')).toBe('GET /(hidden)')
  const failure = await node
    .request({ method: 'GET', path: '/eth', accept: '*/*' })
    .catch((error: Error) => error.message)
  expect(failure).toContain('node 1 refused GET /eth: HTTP 400')
  expect(node.quote(echo.replace('HOST', host))).toMatch(/^Cannot GET /)
  for (const text of [failure, node.quote(echo.replace('HOST', host)), node.quote(`see http://${host}/${key}`)]) {
    expect(text).not.toMatch(/f00d|sesame|operator|hunter|127\.0\.0\.1/)
  }
})

test('closing ends the questions that are being asked', async () => {
  await using node = await openNode(onHead({ hang: true }))
  const source = await openSource([node], { headersTimeoutMs: 600_000 })
  await source.chain()
  const waiting = expect(source.head()).rejects.toMatchObject({ code: 'usage' })
  await source[Symbol.asyncDispose]()
  await waiting
})

test('closing ends a pause that a node asked for', async () => {
  const told = Promise.withResolvers<void>()
  const log = { ...silentLog, warn: () => told.resolve() }
  await using node = await openNode(onHead({ status: 429, json: {}, headers: { 'retry-after': '3600' } }))
  const source = await openSource([node], { retryAfterMaxMs: 3_600_000 }, log)
  const waiting = expect(source.head()).rejects.toMatchObject({ code: 'usage' })
  await told.promise
  await source[Symbol.asyncDispose]()
  await waiting
})

test('the signal of a chain ends what its nodes are asked, and the watching', async () => {
  await using beaconNode = await openNode((path) => (path === HEAD ? { hang: true } : undefined))
  await using executionNode = await openNode(() => ({ hang: true }))
  const stop = new AbortController()
  const chain = {
    names: chainNames('ethereum', 'mainnet'),
    source: { kind: 'beacon', beaconUrls: [beaconNode.url], executionUrls: [executionNode.url] },
    paused: false,
  } as const
  const nodes = await openChainNodes(chain, { devnet: undefined, log: silentLog }, stop.signal)
  await nodes.beacon?.chain()
  const waiting = [
    expect(nodes.beacon?.head()).rejects.toMatchObject({ code: 'usage' }),
    expect(nodes.execution.head()).rejects.toMatchObject({ code: 'usage' }),
    nodes.beacon?.watch(() => undefined, stop.signal),
  ]
  stop.abort()
  await Promise.all(waiting)
  await nodes[Symbol.asyncDispose]()
})

test('a node is told to be lost once and to be back once, however many questions it fails', async () => {
  let isAway = true
  await using node = await openNode((path) => (isAway ? { reset: true } : path === HEAD ? headerAnswer : undefined))
  const { lines, log } = openLines()
  await using source = await openSource([node], {}, log)
  for (let i = 0; i < 4; i++) await expect(source.head()).rejects.toMatchObject({ code: 'node_unreachable' })
  isAway = false
  for (let i = 0; i < 4; i++) await source.head()
  expect(lines).toEqual([
    expect.stringMatching(/^warn beacon node 1 is lost: did not answer \(\w+\)$/),
    expect.stringMatching(/^info beacon node 1 is back after \d+ s$/),
  ])
})

test('a node that answers for its head and hangs over its states counts as away until it tells them', async () => {
  let hangs = true
  const rows = { data: [{ index: '0', balance: '32' }] }
  await using node = await openNode((path) => {
    if (path === HEAD) return headerAnswer
    return path === BALANCES ? (hangs ? { hang: true } : { json: rows }) : undefined
  })
  const { lines, log } = openLines()
  await using source = await openSource([node], { retryWithinMs: 100 }, log)
  await expect(source.finalChain(CHECKPOINT).balances(7, SET)).rejects.toMatchObject({ code: 'node_unreachable' })
  await source.head()
  expect(source.status()).toMatchObject([{ state: 'away', fault: 'node_unreachable' }])
  hangs = false
  await source.finalChain(CHECKPOINT).balances(7, SET)
  expect(source.status()).toMatchObject([{ state: 'up' }])
  expect(lines).toHaveLength(2)
})

test('a main node that is behind the fallback is told', async () => {
  await using main = await openNode()
  await using fallback = await openNode(onHead(headerAnswer))
  const { lines, log } = openLines()
  await using source = await openSource([main, fallback], {}, log)
  for (let i = 0; i < 3; i++) await source.head()
  expect(lines).toEqual(['info beacon node 1 does not have a head: another node is asked'])
})

test('whoever waits for a node tells why once, and when it goes on', async () => {
  const { lines, log } = openLines()
  let failures = 0
  const work = async () => {
    if (++failures < 4) throw new AppError('node_lagging', 'beacon node 1 does not have the state of slot 7')
  }
  const { signal } = new AbortController()
  await retryWithBackoff({ log, signal, what: 'following finality', firstMs: 1 }, work)
  expect(lines).toEqual([
    'warn following finality waits: beacon node 1 does not have the state of slot 7',
    expect.stringMatching(/^info following finality goes on after \d+ s$/),
  ])
})
