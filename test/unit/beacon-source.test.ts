import { ssz } from '@lodestar/types'
import { expect, test } from 'vitest'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import type { NodeLimits } from '../../infra/nodes/nodes.ts'
import type { BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { silentLog } from './silent-log.ts'
import { type NodeReply, type NodeRequestSeen, openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

const GENESIS_ROOT = `0x${'11'.repeat(32)}`
const FAST: Partial<NodeLimits> = { retryDelayMs: 1, headersTimeoutMs: 300, bodyTimeoutMs: 300, restMs: 60_000 }

type Answers = (path: string, request: NodeRequestSeen) => NodeReply | undefined

function chainAnswers(path: string, genesisRoot: string): NodeReply {
  if (path === '/eth/v1/beacon/genesis') {
    return { json: { data: { genesis_time: '1000', genesis_validators_root: genesisRoot } } }
  }
  if (path === '/eth/v1/config/spec') {
    return {
      json: { data: { SECONDS_PER_SLOT: '12', SLOTS_PER_EPOCH: '32', DEPOSIT_CHAIN_ID: '7', BLOB_SCHEDULE: [] } },
    }
  }
  if (path === '/eth/v1/node/syncing') return { json: { data: { head_slot: '1000', is_syncing: false } } }
  return { status: 404, json: { code: 404, message: 'not found' } }
}

function openNode(answers: Answers = () => undefined, genesisRoot = GENESIS_ROOT): Promise<SyntheticNode> {
  return openSyntheticNode((request) => {
    const path = request.path.replace(/^\/base/, '').replace(/[?&]key=hidden$/, '')
    return answers(path, request) ?? chainAnswers(path, genesisRoot)
  })
}

function openSource(nodes: readonly SyntheticNode[], log: Log = silentLog): Promise<BeaconSource> {
  return openBeaconSource({ urls: nodes.map(({ url }) => url), log, limits: FAST })
}

const headerAnswer: NodeReply = {
  json: { data: { root: GENESIS_ROOT, header: { message: { slot: '99', parent_root: GENESIS_ROOT } } } },
}
const onHead =
  (reply: NodeReply): Answers =>
  (path) =>
    path === '/eth/v1/beacon/headers/head' ? reply : undefined

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
  ['a refused request', { status: 400, json: {} }, 'node_malformed'],
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

test('nodes of two chains are refused', async () => {
  await using main = await openNode()
  await using other = await openNode(undefined, `0x${'22'.repeat(32)}`)
  await expect(openSource([main, other])).rejects.toThrow(
    expect.objectContaining({ code: 'node_inconsistent', message: expect.stringContaining('beacon node 2') }),
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
  expect(await fromText.blockAt(64)).toEqual(block)
})

test('a node of another preset is asked for JSON, and for the root that cannot be computed', async () => {
  const { json, root } = blockBytes(64)
  await using node = await openNode((path) => {
    if (path === '/eth/v1/config/spec') {
      const spec = { SECONDS_PER_SLOT: '6', SLOTS_PER_EPOCH: '8', DEPOSIT_CHAIN_ID: '7', SYNC_COMMITTEE_SIZE: '32' }
      return { json: { data: spec } }
    }
    if (path === '/eth/v1/beacon/blocks/64/root') return { json: { data: { root } } }
    return path === '/eth/v2/beacon/blocks/64' ? { json: { version: 'fulu', data: json } } : undefined
  })
  await using source = await openSource([node])
  expect(await source.blockAt(64)).toMatchObject({ slot: 64, root, executionBlockNumber: 77 })
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
  await using syncing = await openNode((path) =>
    path === '/eth/v1/node/syncing' ? { json: { data: { head_slot: '1000', is_syncing: true } } } : undefined,
  )
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
    return path.endsWith('finality_checkpoints') ? { json: { data: { finalized } } } : undefined
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
  const { validatorIndex } = await source.balances(32, set)
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
  const { validatorIndex } = await source.balances(32, set)
  expect(validatorIndex).toEqual(set)
  expect(node.seen.at(-1)?.body).toBe('[]')
})

test('news come from the event stream, which is opened again when it ends', async () => {
  let streams = 0
  await using node = await openSyntheticNode(({ path }, response) => {
    if (!path.startsWith('/base/eth/v1/events'))
      return chainAnswers(path.replace('/base', '').split('?')[0] ?? '', GENESIS_ROOT)
    streams++
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(streams === 1 ? 'event: head\ndata: {}\n\n' : 'event: finalized_checkpoint\ndata: {}\n\n')
    if (streams === 1) response.end()
    return undefined
  })
  await using source = await openSource([node])
  const stop = new AbortController()
  const news: string[] = []
  await source.watch((what) => {
    news.push(what)
    if (news.length === 4) stop.abort()
  }, stop.signal)
  // The head of the first stream, both for the gap, finality of the second stream.
  expect(news).toEqual(['head', 'head', 'finality', 'finality'])
  expect(streams).toBe(2)
})
