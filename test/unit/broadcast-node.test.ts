import { expect, test } from 'vitest'
import { openBroadcastNode } from '../../infra/execution/broadcast-node.ts'
import type { BeaconChain } from '../../infra/ports/beacon-source.ts'
import { silentLog } from './silent-log.ts'
import { type NodeReply, openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

const HASH = `0x${'ab'.repeat(32)}`
const RAW = '0x02c0'
const BEACON = { chain: async () => ({ depositChainId: 1 }) as BeaconChain }

interface Asked {
  readonly id: number
  readonly method: string
}

/** `words`: what the node says of a transaction that it is given; `shown`: what it says of one by its hash, if it says anything. */
function openNode(
  words: string,
  shown: { readonly result: unknown } | 'nothing' = { result: null },
): Promise<SyntheticNode> {
  const answerOf = (method: string) => {
    if (method === 'eth_chainId') return { result: '0x1' }
    if (method === 'eth_getTransactionByHash' && shown !== 'nothing') return shown
    return { error: { code: -32_000, message: words } }
  }
  return openSyntheticNode(({ body }): NodeReply => {
    const asked: Asked | readonly Asked[] = JSON.parse(body)
    const all = [asked].flat()
    if (shown === 'nothing' && all.some(({ method }) => method === 'eth_getTransactionByHash')) return { hang: true }
    const replies = all.map(({ id, method }) => ({ jsonrpc: '2.0', id, ...answerOf(method) }))
    return { json: Array.isArray(asked) ? replies : replies[0] }
  })
}

test.each<[string, string]>([
  ['already known', 'accepted'],
  ['AlreadyKnown', 'accepted'],
  ['Known transaction', 'accepted'],
  ['Transaction with the same hash was already imported.', 'accepted'],
  ['transaction already exists in the pool', 'accepted'],
  ['nonce already exists', 'refused'],
  ['unknown transaction type', 'refused'],
  ['txpool is full', 'refused'],
])('a node that says "%s" of a transaction has %s it, whatever it shows', async (words, status) => {
  await using node = await openNode(words)
  await using broadcast = openBroadcastNode({ beacon: BEACON, executionUrls: [node.url], log: silentLog })
  expect(await broadcast.send(RAW, HASH)).toMatchObject([{ status }])
})

test('a node that never says whether it knows a transaction is waited for only so long', async () => {
  await using silent = await openNode('', 'nothing')
  await using knowing = await openNode('', { result: { hash: HASH } })
  // The one that knows has as long as the one that never says.
  const options = { log: silentLog, answerMsMax: 3_000 }
  await using one = openBroadcastNode({ beacon: BEACON, executionUrls: [silent.url], ...options })
  await expect(one.isKnown(HASH)).rejects.toMatchObject({ code: 'node_unreachable' })
  await using both = openBroadcastNode({ beacon: BEACON, executionUrls: [silent.url, knowing.url], ...options })
  expect(await both.isKnown(HASH)).toBe(true)
})

test.each<[string, number, number, readonly (readonly [number, number | 'latest'])[]]>([
  ['the newest hour', 1_000, 0, [[700, 'latest']]],
  [
    'a day, in parts that providers answer',
    10_000,
    700,
    [
      [9_000, 9_300],
      [9_301, 9_601],
      [9_602, 9_902],
      [9_903, 'latest'],
    ],
  ],
  ['a young chain', 100, 5_000, [[0, 'latest']]],
])('deposits are looked for in all blocks of %s', async (_, head, blocks, ranges) => {
  const asked: unknown[] = []
  await using node = await openSyntheticNode(({ body }): NodeReply => {
    const questions = [JSON.parse(body)].flat() as (Asked & { readonly params: readonly Record<string, string>[] })[]
    const replies = questions.map(({ id, method, params: [filter] }) => {
      if (method === 'eth_chainId') return { id, result: '0x1' }
      if (method === 'eth_getLogs') {
        asked.push([Number(filter?.fromBlock), filter?.toBlock === 'latest' ? 'latest' : Number(filter?.toBlock)])
        return { id, result: [] }
      }
      const hash = `0x${'ab'.repeat(32)}`
      return { id, result: { number: `0x${head.toString(16)}`, hash, parentHash: hash } }
    })
    return { json: Array.isArray(JSON.parse(body)) ? replies : replies[0] }
  })
  await using broadcast = openBroadcastNode({ beacon: BEACON, executionUrls: [node.url], log: silentLog })
  expect(await broadcast.recentDeposits(`0x${'42'.repeat(20)}`, blocks)).toEqual([])
  expect(asked).toEqual(ranges)
})
