import { ssz } from '@lodestar/types'
import { expect, test } from 'vitest'
import { openHttpBeaconSource } from '../../infra/beacon/http-source.ts'
import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { silentLog } from './silent-log.ts'
import {
  type Answers,
  CHECKPOINT,
  FAST,
  finalizedEvent,
  GENESIS_ROOT,
  headEvent,
  headerAnswer,
  headerJson,
  newsOf,
  onHead,
  openNode,
  openStreams,
  syncingAnswer,
} from './synthetic-beacon.ts'
import type { NodeReply, SyntheticNode } from './synthetic-node.ts'

function openSource(nodes: readonly SyntheticNode[], log: Log = silentLog): Promise<BeaconSource> {
  return openHttpBeaconSource({ urls: nodes.map(({ url }) => url), log, limits: FAST })
}

test('the chain is what the node says it is', async () => {
  await using node = await openNode()
  await using source = await openSource([node])
  const chain = await source.chain()
  expect(chain.clock).toEqual({ genesisTimeSec: 1000, secondsPerSlot: 12, slotsPerEpoch: 32 })
  expect(chain.depositChainId).toBe(7)
  expect(chain.spec.BLOB_SCHEDULE).toBe('[]')
})

test.each<[string, NodeReply, string]>([
  ['an HTTP 500', { status: 500, json: {} }, 'node_unreachable'],
  ['an HTTP 429', { status: 429, json: {} }, 'node_unreachable'],
  ['a node that is syncing', { status: 503, json: {} }, 'node_lagging'],
  ['a head that the node does not have', { status: 404, json: {} }, 'node_lagging'],
  ['a connection that is reset', { reset: true }, 'node_unreachable'],
  ['a node that does not answer', { hang: true }, 'node_unreachable'],
  ['truncated JSON', { ...headerAnswer, cut: true } as NodeReply, 'node_malformed'],
  ['JSON of another shape', { json: { data: { root: 7 } } }, 'node_malformed'],
  ['JSON that is no object', { json: 'head' }, 'node_malformed'],
  ['a number with letters', { json: headerJson({ slot: '99x' }) }, 'node_malformed'],
  ['a number below zero', { json: headerJson({ slot: '-0' }) }, 'node_malformed'],
  ['a number beyond 2^53', { json: headerJson({ slot: '9007199254740993' }) }, 'node_malformed'],
  ['a hash with another letter', { json: headerJson({ parent_root: `0xg${'1'.repeat(63)}` }) }, 'node_malformed'],
  ['a refused request', { status: 400, json: {} }, 'node_refused'],
])('%s is told apart', async (_, reply, code) => {
  await using node = await openNode(onHead(reply))
  await using source = await openSource([node])
  await expect(source.head()).rejects.toThrow(expect.objectContaining({ code }))
})

test('a fault that passes is retried on the same node', async () => {
  let failures = 2
  await using node = await openNode(onHeadOnce(() => (failures-- > 0 ? { status: 500, json: {} } : headerAnswer)))
  await using source = await openSource([node])
  expect(await source.head()).toEqual({ slot: 99, root: GENESIS_ROOT })
})

function onHeadOnce(reply: () => NodeReply): Answers {
  return (path) => (path === '/eth/v1/beacon/headers/head' ? reply() : undefined)
}

test('a dead main node is replaced by the fallback, and rests for a while', async () => {
  await using main = await openNode(onHead({ status: 500, json: {} }))
  await using fallback = await openNode(onHead(headerAnswer))
  await using source = await openSource([main, fallback])
  await source.head()
  const asked = main.seen.length
  await source.head()
  expect(main.seen.length).toBe(asked)
})

test('a fallback of another chain is not taken for an answer', async () => {
  await using main = await openNode(onHead({ status: 500, json: {} }))
  await using other = await openNode(onHead(headerAnswer), `0x${'22'.repeat(32)}`)
  await using source = await openSource([main, other])
  await source.chain()
  await expect(source.head()).rejects.toThrow(
    expect.objectContaining({ code: 'node_inconsistent', message: expect.stringContaining('beacon node 2') }),
  )
  expect(source.status()).toMatchObject([
    { name: 'beacon node 1', state: 'away', fault: 'node_unreachable' },
    { name: 'beacon node 2', state: 'away', fault: 'node_inconsistent' },
  ])
})

test('opening asks nothing: what is known of a node comes from questions', async () => {
  let isAway = true
  await using node = await openNode(() => (isAway ? { reset: true } : undefined))
  await using source = await openSource([node])
  expect(node.seen).toEqual([])
  expect(source.status()).toEqual([{ name: 'beacon node 1', state: 'unknown' }])
  await expect(source.chain()).rejects.toThrow(expect.objectContaining({ code: 'node_unreachable' }))
  expect(source.status()).toMatchObject([{ state: 'away', fault: 'node_unreachable', since: expect.any(Number) }])
  isAway = false
  expect((await source.chain()).depositChainId).toBe(7)
  expect(source.status()).toEqual([{ name: 'beacon node 1', state: 'up', since: expect.any(Number) }])
  const asked = node.seen.length
  await source.chain()
  expect(node.seen.length).toBe(asked)
})

test('an address that is none is refused at once', async () => {
  await expect(openHttpBeaconSource({ urls: ['localhost:5052'], log: silentLog })).rejects.toThrow(
    expect.objectContaining({ code: 'config', message: expect.not.stringContaining('localhost') }),
  )
})

test('no message tells the address or the credentials of a node', async () => {
  const messages: string[] = []
  const note = (_: object, message: string) => void messages.push(message)
  await using main = await openNode(onHead({ reset: true }))
  await using fallback = await openNode(onHead({ status: 400, json: { message: 'see http://127.0.0.1/x?key=hidden' } }))
  await using source = await openSource([main, fallback], { ...silentLog, warn: note })
  const error = await source.head().catch((caught: Error) => caught)
  messages.push(error instanceof Error ? `${error.message} ${error.stack}` : '')
  expect(messages.join('\n')).toContain('beacon node 1')
  expect(messages.join('\n').split('\n    at ')[0]).not.toMatch(/127\.0\.0\.1|secret|hidden/)
})

test('credentials and key of the address go with each request', async () => {
  await using node = await openNode(onHead(headerAnswer))
  await using source = await openSource([node])
  await source.head()
  expect(node.seen.at(-1)).toMatchObject({
    path: '/base/eth/v1/beacon/headers/head?key=hidden',
    headers: { authorization: `Basic ${btoa('user:secret')}` },
  })
})

const blockBytes = (slot: number, parentRoot = new Uint8Array(32)) => {
  const block = ssz.fulu.SignedBeaconBlock.defaultValue()
  block.message.slot = slot
  block.message.proposerIndex = 5
  block.message.parentRoot = parentRoot
  block.message.body.executionPayload.blockNumber = 77
  block.message.body.syncAggregate.syncCommitteeBits.set(0, true)
  block.message.body.syncAggregate.syncCommitteeBits.set(9, true)
  block.message.body.executionPayload.withdrawals = [
    { index: 3, validatorIndex: 8, address: new Uint8Array(20).fill(9), amount: 12n },
  ]
  return {
    bytes: ssz.fulu.SignedBeaconBlock.serialize(block),
    json: ssz.fulu.SignedBeaconBlock.toJson(block),
    root: `0x${Buffer.from(ssz.fulu.BeaconBlock.hashTreeRoot(block.message)).toString('hex')}`,
  }
}
const fulu = { 'eth-consensus-version': 'fulu' }

test('a block is the same from SSZ and from JSON, its root computed', async () => {
  const { bytes, json, root } = blockBytes(64)
  await using binary = await openNode((path) =>
    path === '/eth/v2/beacon/blocks/64' ? { body: bytes, headers: fulu } : undefined,
  )
  await using text = await openNode((path) =>
    path === '/eth/v2/beacon/blocks/64' ? { json: { version: 'fulu', data: json } } : undefined,
  )
  await using fromBinary = await openSource([binary])
  await using fromText = await openSource([text])
  const block = await fromBinary.blockAt(64)
  expect(block).toMatchObject({ slot: 64, root, proposerIndex: 5, executionBlockNumber: 77, accusedIndices: [] })
  expect(block?.withdrawals).toEqual([
    { index: 3, validatorIndex: 8, address: `0x${'09'.repeat(20)}`, amountGwei: 12n },
  ])
  expect(Array.from(block?.syncBits.subarray(0, 3) ?? [])).toEqual([1, 2, 0])
  expect(block?.syncBits).toHaveLength(64)
  expect(await fromText.blockAt(64)).toEqual(block)
})

test('a block of a fork whose rules are unknown is inconsistent', async () => {
  const bytes = ssz.gloas.SignedBeaconBlock.serialize(ssz.gloas.SignedBeaconBlock.defaultValue())
  await using node = await openNode((path) =>
    path === '/eth/v2/beacon/blocks/64' ? { body: bytes, headers: { 'eth-consensus-version': 'gloas' } } : undefined,
  )
  await using source = await openSource([node])
  await expect(source.blockAt(64)).rejects.toThrow('blocks of the fork gloas are not supported')
})

test('a node of another preset is asked for JSON, and for the root that cannot be computed', async () => {
  const { json, root } = blockBytes(64)
  const shorter = JSON.parse(
    JSON.stringify(json).replace(/"sync_committee_bits":"0x\w+"/, '"sync_committee_bits":"0x01020304"'),
  )
  await using node = await openNode((path) => {
    if (path === '/eth/v1/config/spec') {
      const spec = { SECONDS_PER_SLOT: '6', SLOTS_PER_EPOCH: '8', DEPOSIT_CHAIN_ID: '7', SYNC_COMMITTEE_SIZE: '32' }
      return { json: { data: spec } }
    }
    if (path === '/eth/v1/beacon/blocks/64/root') return { json: { data: { root } } }
    return path === '/eth/v2/beacon/blocks/64' ? { json: { version: 'fulu', data: shorter } } : undefined
  })
  await using source = await openSource([node])
  const syncBits = Uint8Array.of(1, 2, 3, 4)
  expect(await source.blockAt(64)).toMatchObject({ slot: 64, root, executionBlockNumber: 77, syncBits })
  const asked = node.seen.find(({ path }) => path.includes('/eth/v2/beacon/blocks'))
  expect(asked?.headers.accept).toBe('application/json')
})

test('truncated SSZ is malformed', async () => {
  const { bytes } = blockBytes(64)
  await using node = await openNode((path) =>
    path.startsWith('/eth/v2/beacon/blocks') ? { body: bytes.subarray(0, 700), headers: fulu } : undefined,
  )
  await using source = await openSource([node])
  await expect(source.blockAt(64)).rejects.toThrow(expect.objectContaining({ code: 'node_malformed' }))
})

test('a block of another root than the one asked for is inconsistent', async () => {
  const { bytes } = blockBytes(64)
  await using node = await openNode((path) =>
    path.startsWith('/eth/v2/beacon/blocks') ? { body: bytes, headers: fulu } : undefined,
  )
  await using source = await openSource([node])
  await expect(source.blockByRoot(GENESIS_ROOT)).rejects.toThrow(expect.objectContaining({ code: 'node_inconsistent' }))
})

test('a 404 is an empty slot for a node that is past it, and a lag for one that is not', async () => {
  await using node = await openNode()
  await using source = await openSource([node])
  expect(await source.blockAt(999)).toBeUndefined()
  await expect(source.blockAt(1000)).rejects.toThrow(expect.objectContaining({ code: 'node_lagging' }))
})

test('a syncing node does not make slots empty: the fallback is asked', async () => {
  const { bytes, root } = blockBytes(64)
  await using syncing = await openNode((path) => (path === '/eth/v1/node/syncing' ? syncingAnswer(true) : undefined))
  await using fallback = await openNode((path) =>
    path === '/eth/v2/beacon/blocks/64' ? { body: bytes, headers: fulu } : undefined,
  )
  await using source = await openSource([syncing, fallback])
  expect((await source.blockAt(64))?.root).toBe(root)
})

test('a block that was read before finality is not read again when it is final', async () => {
  const parent = blockBytes(62)
  const child = blockBytes(64, Buffer.from(parent.root.slice(2), 'hex'))
  await using node = await openNode((path) => {
    if (path.endsWith(parent.root)) return { body: parent.bytes, headers: fulu }
    if (path.endsWith(child.root)) return { body: child.bytes, headers: fulu }
    const finalized = { epoch: '2', root: child.root }
    const data = { previous_justified: finalized, current_justified: finalized, finalized }
    return path.endsWith('finality_checkpoints') ? { json: { data } } : undefined
  })
  await using source = await openSource([node])
  await source.blockByRoot(child.root)
  await source.blockByRoot(parent.root)
  await source.finalized()
  const asked = node.seen.length
  expect((await source.blockAt(64))?.root).toBe(child.root)
  expect(await source.blockAt(63)).toBeUndefined()
  expect((await source.blockAt(62))?.root).toBe(parent.root)
  expect(node.seen.length).toBe(asked)
})

const balanceRow = (index: number) => ({ index: String(index), balance: String(index * 2) })

test('many ids are asked in pieces when they are a small part of the registry', async () => {
  const size = 200_000
  await using node = await openNode((path, { body }) => {
    if (!path.endsWith('/validator_balances')) return undefined
    const ids = (JSON.parse(body) as string[]).map(Number)
    return { json: { data: ids.filter((index) => index < size).map(balanceRow) } }
  })
  await using source = await openSource([node])
  const set = Uint32Array.from({ length: 15_000 }, (_, i) => i * 2)
  const { validatorIndex } = await source.finalChain(CHECKPOINT).balances(32, set)
  expect(validatorIndex).toEqual(set)
  const asked = node.seen.filter(({ path, body }) => path.includes('balances') && body.length > 10_000)
  expect(asked.map(({ body }) => (JSON.parse(body) as string[]).length)).toEqual([10_000, 5_000])
})

test('all are asked for, and the others passed over, when they are a large part of the registry', async () => {
  const size = 20_000
  await using node = await openNode((path, { body }) => {
    if (!path.endsWith('/validator_balances')) return undefined
    const asked = (JSON.parse(body) as string[]).map(Number)
    const ids = asked.length === 0 ? Array.from({ length: size }, (_, i) => i) : asked
    return { json: { data: ids.filter((index) => index < size).map(balanceRow) } }
  })
  await using source = await openSource([node])
  const set = Uint32Array.from({ length: 12_000 }, (_, i) => i + 3)
  const { validatorIndex } = await source.finalChain(CHECKPOINT).balances(32, set)
  expect(validatorIndex).toEqual(set)
  expect(node.seen.at(-1)?.body).toBe('[]')
})

test('no question is about more than an answer may hold', async () => {
  const size = 20_000
  const bodyBytesMax = 400_000 // some 6,000 balances, a third of the registry
  await using node = await openNode((path, { body }) => {
    if (!path.endsWith('/validator_balances')) return undefined
    const ids = (JSON.parse(body) as string[]).map(Number)
    const rows = ids.length === 0 ? Array.from({ length: size }, (_, i) => i) : ids
    return { json: { data: rows.filter((index) => index < size).map(balanceRow) } }
  })
  const limits = { ...FAST, bodyBytesMax }
  await using source = await openHttpBeaconSource({ urls: [node.url], log: silentLog, limits })
  const set = Uint32Array.from({ length: 15_000 }, (_, i) => i)
  expect((await source.finalChain(CHECKPOINT).balances(32, set)).validatorIndex).toEqual(set)
  const asked = node.seen.filter(({ path }) => path.includes('balances')).map(({ body }) => JSON.parse(body).length)
  expect(asked).not.toContain(0)
  expect(asked.filter((ids) => ids > 64)).toEqual([6_250, 6_250, 2_500])
})

test('news say which block is the head and which is final; a stream that is opened again begins with a gap', async () => {
  const upper = `0x${'AB'.repeat(32)}`
  await using node = await openStreams([headEvent(99, upper), finalizedEvent(3, GENESIS_ROOT)])
  await using source = await openSource([node])
  expect(await newsOf(source, 4)).toEqual([
    { kind: 'gap' },
    { kind: 'head', slot: 99, root: upper.toLowerCase() },
    { kind: 'gap' },
    { kind: 'finalized', epoch: 3, root: GENESIS_ROOT, toldBy: 0 },
  ])
})

test('a checkpoint whose event does not say whether it is verified is a gap, so that it is asked for', async () => {
  const silent = (event: string) => event.replace(/,?"execution_optimistic":(true|false)/, '')
  const optimistic = finalizedEvent(4, GENESIS_ROOT).replace(
    '"execution_optimistic":false',
    '"execution_optimistic":true',
  )
  await using node = await openStreams([
    silent(finalizedEvent(3, GENESIS_ROOT)) + silent(headEvent(99, GENESIS_ROOT)) + optimistic,
    headEvent(100, GENESIS_ROOT),
  ])
  await using source = await openSource([node])
  const news = await newsOf(source, 5)
  expect(news.map((one) => (one.kind === 'head' ? one.slot : one.kind))).toEqual(['gap', 'gap', 99, 'gap', 100])
})

test('an event of another shape is not handed on', async () => {
  const wrong = headEvent(99, GENESIS_ROOT).replace('"99"', '"soon"')
  await using node = await openStreams([
    wrong + headEvent(100, GENESIS_ROOT),
    headEvent(101, '0x12'),
    headEvent(102, GENESIS_ROOT),
  ])
  await using source = await openSource([node])
  const news = await newsOf(source, 4)
  expect(news.map((one) => (one.kind === 'head' ? one.slot : one.kind))).toEqual(['gap', 'gap', 'gap', 102])
})

test('the news of a node of another chain are not listened to', async () => {
  const stop = new AbortController()
  let turns = 0
  await using main = await openNode((path) => {
    if (path.startsWith('/eth/v1/events') && ++turns === 2) stop.abort()
    return undefined
  })
  await using other = await openNode(undefined, `0x${'22'.repeat(32)}`)
  await using source = await openSource([main, other])
  await source.chain()
  await source.watch(() => undefined, stop.signal)
  expect(other.seen.length).toBeGreaterThan(0)
  expect(other.seen.filter(({ path }) => path.includes('events'))).toEqual([])
})
