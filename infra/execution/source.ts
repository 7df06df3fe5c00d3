import type { ExecutionBlockData } from '../../schemas/events/execution-block.ts'
import { malformed, parseJson } from '../beacon/answers.ts'
import { type Askable, ChainNode, DEFAULT_LIMITS, NodeGroup, type NodeLimits, withoutUrls } from '../nodes/nodes.ts'
import type { ExecutionSource } from '../ports/execution-source.ts'
import type { Log } from '../ports/log.ts'
import { parseBatch, parseBlock, parseReceipts, type RpcAnswer, type RpcBlock } from './answers.ts'
import { toExecutionBlock } from './block.ts'

/** Receipts asked for one by one go in batches of this many: below the limits of public providers. */
const RECEIPTS_PER_BATCH = 100

const METHOD_NOT_FOUND = -32_601
const LIMIT_EXCEEDED = -32_005

interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

export interface ExecutionSourceOptions {
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

/**
 * Opens the JSON-RPC of one or more execution nodes. Throws AppError: `config` for an address that is none,
 * `node_unreachable` when no node answers, `node_inconsistent` when two are on different chains.
 */
export async function openExecutionSource(options: ExecutionSourceOptions): Promise<ExecutionSource> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const nodes = options.urls.map((url, i) => new ExecutionNode(`execution node ${i + 1}`, url, limits))
  const identify = async (node: ExecutionNode) => `chain ${await node.chainId()}`
  const group = new NodeGroup({ nodes, limits, log: options.log, identify })
  try {
    await group.open()
    const chainId = await group.ask((node) => node.chainId())
    return {
      chainId: async () => chainId,
      blockByHash: (hash) => group.ask((node) => node.block(hash)),
      [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
    }
  } catch (error) {
    await group[Symbol.asyncDispose]()
    throw error
  }
}

/**
 * One execution node. Batches go over the pooled HTTP client that the beacon nodes use, so faults are told apart and retried
 * in one place, and no error carries an address.
 */
class ExecutionNode implements Askable {
  readonly #node: ChainNode
  chainIdentity: string | undefined
  restsUntilMs = 0
  /** False once the node has said that it does not know eth_getBlockReceipts. */
  #hasBlockReceipts = true

  constructor(name: string, url: string, limits: NodeLimits) {
    this.#node = new ChainNode(name, url, limits)
  }

  get name(): string {
    return this.#node.name
  }

  async chainId(): Promise<number> {
    const [answer] = await this.#batch([{ method: 'eth_chainId', params: [] }])
    const result = this.#resultOf(answer)
    if (typeof result !== 'string' || !/^0x[0-9a-f]{1,13}$/i.test(result)) throw malformed('the chain id is no number')
    return Number(result)
  }

  /** The block with all its receipts, checked against its receipts root; throws AppError of a node fault. */
  async block(hash: string): Promise<ExecutionBlockData> {
    const blockCall = { method: 'eth_getBlockByHash', params: [hash, true] }
    const receiptsCall = { method: 'eth_getBlockReceipts', params: [hash] }
    const calls = this.#hasBlockReceipts ? [blockCall, receiptsCall] : [blockCall]
    const [blockAnswer, receiptsAnswer] = await this.#batch(calls)
    const found = this.#resultOf(blockAnswer)
    if (found === null) throw this.#node.fault('node_lagging', `does not have block ${hash}`)
    const block = parseBlock(found)
    if (block.hash.toLowerCase() !== hash) {
      throw this.#node.fault('node_inconsistent', `answered block ${hash} with ${block.hash}`)
    }
    if (receiptsAnswer?.status === 'error' && receiptsAnswer.code === METHOD_NOT_FOUND) this.#hasBlockReceipts = false
    if (!this.#hasBlockReceipts) return toExecutionBlock(block, parseReceipts(await this.#receiptsOneByOne(block)))
    const receipts = this.#resultOf(receiptsAnswer)
    if (receipts === null) throw this.#node.fault('node_lagging', `does not have the receipts of block ${hash}`)
    return toExecutionBlock(block, parseReceipts(receipts))
  }

  async #receiptsOneByOne(block: RpcBlock): Promise<readonly unknown[]> {
    const receipts: unknown[] = []
    for (let from = 0; from < block.transactions.length; from += RECEIPTS_PER_BATCH) {
      const part = block.transactions.slice(from, from + RECEIPTS_PER_BATCH)
      const answers = await this.#batch(
        part.map(({ hash }) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
      )
      for (const answer of answers) {
        const receipt = this.#resultOf(answer)
        if (receipt === null) throw this.#node.fault('node_lagging', `lacks a receipt of block ${block.hash}`)
        receipts.push(receipt)
      }
    }
    return receipts
  }

  async #batch(calls: readonly RpcCall[]): Promise<readonly RpcAnswer[]> {
    if (calls.length === 0) return []
    const questions = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))
    const body = JSON.stringify(questions.length === 1 ? questions[0] : questions)
    const answer = await this.#node.get({ method: 'POST', path: '', accept: 'application/json', body })
    if (answer === undefined) throw this.#node.fault('node_unreachable', 'answered HTTP 404')
    return parseBatch(parseJson('the JSON-RPC answer', answer.body), calls.length)
  }

  #resultOf(answer: RpcAnswer | undefined): unknown {
    if (answer?.status === 'result') return answer.result
    const code = answer?.code ?? 0
    const text = withoutUrls((answer?.message ?? 'no answer').slice(0, 200))
    // Nodes tell of blocks that they do not have yet in their own words and numbers: all of it may pass.
    const kind = code === LIMIT_EXCEEDED ? 'node_unreachable' : 'node_lagging'
    throw this.#node.fault(kind, `answered with JSON-RPC error ${code}: ${text}`)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#node[Symbol.asyncDispose]()
  }
}
