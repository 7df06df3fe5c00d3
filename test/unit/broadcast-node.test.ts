import { expect, test } from 'vitest'
import { openBroadcastNode } from '../../infra/execution/broadcast-node.ts'
import { silentLog } from './silent-log.ts'
import { type NodeReply, openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

const HASH = `0x${'ab'.repeat(32)}`
const RAW = '0x02c0'

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
  await using broadcast = openBroadcastNode({ urls: [node.url], log: silentLog })
  expect(await broadcast.send(RAW, HASH)).toMatchObject([{ status }])
})

test('a node that never says whether it knows a transaction is waited for only so long', async () => {
  await using silent = await openNode('', 'nothing')
  await using knowing = await openNode('', { result: { hash: HASH } })
  const options = { log: silentLog, answerMsMax: 100 }
  await using one = openBroadcastNode({ urls: [silent.url], ...options })
  await expect(one.isKnown(HASH)).rejects.toMatchObject({ code: 'node_unreachable' })
  await using both = openBroadcastNode({ urls: [silent.url, knowing.url], ...options })
  expect(await both.isKnown(HASH)).toBe(true)
})
