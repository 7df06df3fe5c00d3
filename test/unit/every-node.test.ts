import { describe, expect, test } from 'vitest'
import { openExitNode } from '../../infra/beacon/exit-node.ts'
import { openBroadcastNode } from '../../infra/execution/broadcast-node.ts'
import type { BeaconChain } from '../../infra/ports/beacon-source.ts'
import { voluntaryExitBody } from '../../schemas/eth/voluntary-exit.ts'
import { silentLog } from './silent-log.ts'
import { type NodeReply, openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

// What is handed to the nodes of a chain goes to each of them, whatever becomes of it at the others: a pool is one node's memory.

const GENESIS_ROOT = `0x${'4b'.repeat(32)}`
const OTHER_ROOT = `0x${'0e'.repeat(32)}`
const EXIT = { epoch: 356, validatorIndex: 7, signature: `0x${'05'.repeat(96)}` }
const EXITS_PATH = '/base/eth/v1/beacon/pool/voluntary_exits?key=hidden'

const CHAIN_ID = 560_048
const RAW = '0x02c0'
const HASH = `0x${'ab'.repeat(32)}`

type Manner = 'takes' | 'refuses' | 'down' | 'breaks' | 'foreign'

/** What two nodes do in either order, and what is told of each; `true` for who has got what was handed over. */
const PAIRS: readonly [Manner, Manner][] = [
  ['takes', 'takes'],
  ...(['refuses', 'down', 'breaks', 'foreign'] as const).flatMap((other): [Manner, Manner][] => [
    [other, 'takes'],
    ['takes', other],
  ]),
  ['refuses', 'refuses'],
]
const OUTCOMES = {
  takes: 'accepted',
  refuses: 'refused',
  down: 'unanswered',
  breaks: 'unanswered',
  foreign: 'unanswered',
}
const GETS: Readonly<Record<Manner, boolean>> = {
  ...{ takes: true, refuses: true, breaks: true },
  ...{ down: false, foreign: false },
}

/** A port at which nobody listens any more. */
async function addressOfNobody(): Promise<string> {
  await using node = await openSyntheticNode(() => ({ hang: true }))
  return node.url
}

describe('an exit', () => {
  const beacon = {
    chain: async () => ({ genesisValidatorsRoot: GENESIS_ROOT }) as BeaconChain,
    head: () => Promise.reject(new Error('nobody asks for it')),
    watch: () => Promise.reject(new Error('nobody asks for it')),
  }

  function openBeaconNode(manner: Manner): Promise<SyntheticNode> {
    return openSyntheticNode(({ path }): NodeReply => {
      const root = manner === 'foreign' ? OTHER_ROOT : GENESIS_ROOT
      if (path.includes('/genesis')) return { json: { data: { genesis_validators_root: root } } }
      if (manner === 'breaks') return { reset: true }
      if (manner === 'refuses') return { status: 400, json: { code: 400, message: 'Validator is not active' } }
      return { json: {} }
    })
  }

  test.each(PAIRS)('goes to every beacon node, of which one %s and the other %s', async (...manners) => {
    await using nodes = await openAll(manners, openBeaconNode)
    const limits = { attemptsPerNode: 1 }
    await using exitNode = openExitNode({ beacon, urls: nodes.urls, log: silentLog, limits })
    const submitted = await exitNode.submit(EXIT)
    expect(submitted.map(({ status }) => status)).toEqual(manners.map((manner) => OUTCOMES[manner]))
    const got = nodes.seen((requests) =>
      requests.filter(({ method, path }) => method === 'POST' && path === EXITS_PATH).map(({ body }) => body),
    )
    expect(got).toEqual(manners.map((manner) => (GETS[manner] ? [voluntaryExitBody(EXIT)] : [])))
  })
})

describe('a transaction', () => {
  interface Asked {
    readonly id: number
    readonly method: string
    readonly params: readonly unknown[]
  }
  const beacon = { chain: async () => ({ depositChainId: CHAIN_ID }) as BeaconChain }
  const questionsOf = (body: string): readonly Asked[] => [JSON.parse(body)].flat()

  function openExecutionNode(manner: Manner): Promise<SyntheticNode> {
    const answerOf = (method: string) => {
      if (method === 'eth_chainId') return { result: `0x${(manner === 'foreign' ? 1 : CHAIN_ID).toString(16)}` }
      if (method === 'eth_getTransactionByHash') return { result: null }
      return manner === 'refuses' ? { error: { code: -32_000, message: 'txpool is full' } } : { result: HASH }
    }
    return openSyntheticNode(({ body }): NodeReply => {
      const questions = questionsOf(body)
      if (manner === 'breaks' && questions.some(({ method }) => method === 'eth_sendRawTransaction'))
        return { reset: true }
      const replies = questions.map(({ id, method }) => ({ jsonrpc: '2.0', id, ...answerOf(method) }))
      return { json: Array.isArray(JSON.parse(body)) ? replies : replies[0] }
    })
  }

  test.each(PAIRS)('goes to every execution node, of which one %s and the other %s', async (...manners) => {
    await using nodes = await openAll(manners, openExecutionNode)
    await using broadcast = openBroadcastNode({ beacon, executionUrls: nodes.urls, log: silentLog })
    const outcomes = await broadcast.send(RAW, HASH)
    expect(outcomes.map(({ status }) => status)).toEqual(manners.map((manner) => OUTCOMES[manner]))
    const got = nodes.seen((requests) =>
      requests
        .flatMap(({ body }) => questionsOf(body))
        .filter(({ method }) => method === 'eth_sendRawTransaction')
        .map(({ params }) => params),
    )
    expect(got).toEqual(manners.map((manner) => (GETS[manner] ? [[RAW]] : [])))
  })
})

interface OpenedNodes extends AsyncDisposable {
  readonly urls: readonly string[]
  /** What is found in the requests of each node. */
  seen<Found>(find: (requests: SyntheticNode['seen']) => Found): readonly Found[]
}

async function openAll(
  manners: readonly Manner[],
  open: (manner: Manner) => Promise<SyntheticNode>,
): Promise<OpenedNodes> {
  await using opened = new AsyncDisposableStack()
  const nodes: { readonly url: string; readonly seen: SyntheticNode['seen'] }[] = []
  for (const manner of manners)
    nodes.push(manner === 'down' ? { url: await addressOfNobody(), seen: [] } : opened.use(await open(manner)))
  const all = opened.move()
  return {
    urls: nodes.map(({ url }) => url),
    seen: (find) => nodes.map(({ seen }) => find(seen)),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
