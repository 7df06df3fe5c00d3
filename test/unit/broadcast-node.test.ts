import { expect, test } from 'vitest'
import { openBroadcastNode } from '../../infra/execution/broadcast-node.ts'
import { silentLog } from './silent-log.ts'
import { type NodeReply, openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

const HASH = `0x${'ab'.repeat(32)}`
const RAW = '0x02c0'

/** `words`: what the node says of a transaction that it is given; it shows none by its hash. */
function openNode(words: string, known: NodeReply | undefined = undefined): Promise<SyntheticNode> {
  return openSyntheticNode(({ body }) => {
    const asked = JSON.parse(body) as { id: number; method: string } | readonly { id: number; method: string }[]
    const isKnownAsked = [asked].flat().some(({ method }) => method === 'eth_getTransactionByHash')
    if (isKnownAsked && known !== undefined) return known
    const reply = ({ id, method }: { id: number; method: string }) => ({ jsonrpc: '2.0', id, ...answer(method, words) })
    return { json: Array.isArray(asked) ? asked.map(reply) : reply(asked as { id: number; method: string }) }
  })
}

function answer(method: string, words: string) {
  if (method === 'eth_chainId') return { result: '0x1' }
  if (method === 'eth_getTransactionByHash') return { result: null }
  return { error: { code: -32_000, message: words } }
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
