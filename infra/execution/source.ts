import {
  BlockNotFoundError,
  formatTransactionReceipt,
  type Hash,
  numberToHex,
  TransactionReceiptNotFoundError,
} from 'viem'
import { type Askable, NodeGroup } from '../nodes/node-group.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type { BlockReference, ExecutionBlock, ExecutionSource } from '../ports/execution-source.ts'
import type { Log } from '../ports/log.ts'
import { type NodeBlock, type NodeReceipt, toExecutionBlock } from './block.ts'
import { jsonRpcErrorOf, openClient, type RpcClient, toFault } from './json-rpc.ts'

/** Receipts asked for one by one go in batches of this many: below the limits of public providers. */
const RECEIPTS_PER_BATCH = 100

const METHOD_NOT_FOUND = -32_601
const INVALID_PARAMS = -32_602
const METHOD_NOT_SUPPORTED = -32_004
const UNKNOWN_BLOCK = -39_001
const SERVER_ERROR = -32_000

export interface ExecutionSourceOptions {
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

/**
 * Opens the JSON-RPC of one or more execution nodes; asks them nothing. Throws AppError `config` for an address that is none.
 * A node of another chain than the first that answered is `node_inconsistent` at its first question.
 */
export async function openExecutionSource(options: ExecutionSourceOptions): Promise<ExecutionSource> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const nodes = options.urls.map((url, i) => new ExecutionNode(`execution node ${i + 1}`, url, limits))
  const identify = async (node: ExecutionNode) => `chain ${await node.chainId()}`
  const group = new NodeGroup({ nodes, limits, log: options.log, identify })
  let chainId: number | undefined
  return {
    chainId: async () => {
      chainId ??= await group.ask('chain', (node) => node.chainId())
      return chainId
    },
    head: () => group.ask('head', (node) => node.head()),
    finalized: () => group.ask('finality', (node) => node.finalized()),
    blockByNumber: (number) => group.ask('blocks', (node) => node.blockByNumber(number)),
    blockByHash: (hash) => group.ask('blocks', (node) => node.blockByHash(hash)),
    status: () => group.status(),
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  }
}

/**
 * One execution node. viem's actions run over the pooled HTTP client that the beacon nodes use, so faults are told apart and
 * retried in one place, and no error carries an address.
 */
class ExecutionNode implements Askable {
  readonly #node: ChainNode
  /** False once the node has said that it does not know eth_getBlockReceipts. */
  #hasBlockReceipts = true

  constructor(name: string, url: string, limits: NodeLimits) {
    this.#node = new ChainNode(name, url, limits)
  }

  get name(): string {
    return this.#node.name
  }

  get welcomeFromMs(): number {
    return this.#node.welcomeFromMs
  }

  async chainId(): Promise<number> {
    try {
      return await openClient(this.#node).getChainId()
    } catch (error) {
      throw toFault(this.#node, error)
    }
  }

  async head(): Promise<BlockReference> {
    const block = await this.#found(openClient(this.#node).getBlock({ blockTag: 'latest' }))
    if (block === undefined) throw this.#node.fault('node_lagging', 'has no block yet')
    return toReference(block)
  }

  async finalized(): Promise<BlockReference | undefined> {
    const asked = openClient(this.#node).getBlock({ blockTag: 'finalized' })
    const block = await this.#found(asked.catch(undefinedWithoutFinality))
    return block === undefined ? undefined : toReference(block)
  }

  async blockByHash(asked: string): Promise<ExecutionBlock> {
    const hash: Hash = `0x${asked.slice(2)}`
    const block = await this.#wholeBlock(hash, { blockHash: hash }, (found) => found.hash.toLowerCase() === asked)
    if (block === undefined) throw this.#node.fault('node_lagging', `does not have block ${asked}`)
    return block
  }

  blockByNumber(number: number): Promise<ExecutionBlock | undefined> {
    const asked = BigInt(number)
    return this.#wholeBlock(numberToHex(asked), { blockNumber: asked }, (found) => found.number === asked)
  }

  /** A block with all its receipts, asked for at once and checked against its receipts root. */
  async #wholeBlock(
    id: Hash,
    which: { readonly blockHash: Hash } | { readonly blockNumber: bigint },
    isAsked: (block: NodeBlock) => boolean,
  ): Promise<ExecutionBlock | undefined> {
    const client = openClient(this.#node)
    const blockAsked = this.#found(client.getBlock({ ...which, includeTransactions: true }))
    const receiptsAsked = this.#hasBlockReceipts ? this.#blockReceipts(client, id) : undefined
    receiptsAsked?.catch(() => undefined) // it is awaited below, where there is a block
    const block = await blockAsked
    if (block === undefined) return undefined
    if (!isAsked(block)) throw this.#node.fault('node_inconsistent', `answered block ${id} with ${block.hash}`)
    const receipts = (await receiptsAsked) ?? (await this.#receiptsOneByOne(block))
    return toExecutionBlock(block, receipts)
  }

  /** The receipts of a block, or undefined where the node does not know the method. */
  async #blockReceipts(client: RpcClient, id: Hash): Promise<readonly NodeReceipt[] | undefined> {
    try {
      const receipts = await client.request({ method: 'eth_getBlockReceipts', params: [id] })
      if (receipts === null) throw this.#node.fault('node_lagging', `does not have the receipts of block ${id}`)
      return receipts.map((receipt) => formatTransactionReceipt(receipt))
    } catch (error) {
      const code = jsonRpcErrorOf(error)?.code
      if (code !== METHOD_NOT_FOUND && code !== METHOD_NOT_SUPPORTED) throw toFault(this.#node, error)
      this.#hasBlockReceipts = false
      return undefined
    }
  }

  async #receiptsOneByOne({ hash, transactions }: NodeBlock): Promise<readonly NodeReceipt[]> {
    const receipts: NodeReceipt[] = []
    for (let from = 0; from < transactions.length; from += RECEIPTS_PER_BATCH) {
      const client = openClient(this.#node)
      const part = transactions.slice(from, from + RECEIPTS_PER_BATCH)
      const asked = Promise.all(part.map((transaction) => client.getTransactionReceipt({ hash: transaction.hash })))
      const found = await this.#found(asked)
      if (found === undefined) throw this.#node.fault('node_lagging', `lacks a receipt of block ${hash}`)
      receipts.push(...found)
    }
    return receipts
  }

  /** What viem answers, undefined where it tells that the node has none. */
  async #found<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await asked
    } catch (error) {
      if (error instanceof BlockNotFoundError || error instanceof TransactionReceiptNotFoundError) return undefined
      throw toFault(this.#node, error)
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#node[Symbol.asyncDispose]()
  }
}

function toReference(block: {
  readonly number: bigint
  readonly hash: Hash
  readonly parentHash: Hash
}): BlockReference {
  const { number, hash, parentHash } = block
  return { number: Number(number), hash: hash.toLowerCase(), parentHash: parentHash.toLowerCase() }
}

/** Nodes of chains without finality refuse the tag or do not find its block; anything else may pass and must not look like it. */
function undefinedWithoutFinality(error: unknown): undefined {
  const { code, message } = jsonRpcErrorOf(error) ?? {}
  if (code === INVALID_PARAMS || code === UNKNOWN_BLOCK) return undefined
  if (code === SERVER_ERROR && /not found|unknown|unsupported|not supported|invalid/i.test(message ?? ''))
    return undefined
  throw error
}
