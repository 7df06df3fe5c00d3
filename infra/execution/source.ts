import { AppError } from '../../schemas/errors.ts'
import { type Askable, NodeGroup } from '../nodes/node-group.ts'
import { ChainNode, DEFAULT_LIMITS } from '../nodes/nodes.ts'
import type { BalanceChange, BlockReference, ExecutionBlock, ExecutionSource } from '../ports/execution-source.ts'
import { type BlockRules, toExecutionBlock, toExecutionBlockOfLogs } from './block.ts'
import { type AskNode, isLimit, JsonRpcError, openBatch, toFault } from './json-rpc.ts'
import {
  type BlockName,
  balanceQuestion,
  blockQuestion,
  chainIdQuestion,
  logsQuestion,
  type NodeBlock,
  type NodeReceipt,
  type NodeReference,
  receiptQuestion,
  receiptsQuestion,
  referenceQuestion,
} from './result-shapes.ts'
import { type ExecutionSourceOptions, executionNodeName } from './source-options.ts'

export type { ExecutionSourceOptions } from './source-options.ts'

/** Receipts asked for one by one go in batches of this many: below the limits of public providers. */
const RECEIPTS_PER_BATCH = 100

/** Why a block is asked for again, and of another node, before it counts as one that nobody has. */
const NOT_THERE = Symbol('no block of this number')

/** Method not found, method not supported. */
const METHOD_MISSING: ReadonlySet<number> = new Set([-32_601, -32_004])
const INVALID_PARAMS = -32_602
const UNKNOWN_BLOCK = -39_001
const SERVER_ERROR = -32_000

/**
 * Opens the JSON-RPC of one or more execution nodes; asks them nothing. Throws AppError `config` for an address that is none.
 * A node of another chain than the first that answered is `node_inconsistent` at its first question.
 */
export async function openExecutionSource(options: ExecutionSourceOptions): Promise<ExecutionSource> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const { binding, check = 'receipts', logsOnly = false } = options
  if (logsOnly && check === 'receipts') throw new AppError('config', 'logs alone cannot be checked by a receipts root')
  const nodes = options.urls.map((url, i) => {
    return new ExecutionNode(new ChainNode(executionNodeName(i), url, limits), { binding, check, logsOnly })
  })
  const identify = async (node: ExecutionNode) => `chain ${await node.chainId()}`
  const group = new NodeGroup({ nodes, limits, log: options.log, identify, onStatus: options.onStatus })
  let chainId: number | undefined
  return {
    chainId: async () => {
      chainId ??= await group.ask('chain', (node) => node.chainId())
      return chainId
    },
    head: () => group.ask('head', (node) => node.head()),
    finalized: () => group.ask('finality', (node) => node.finalized()),
    blockByNumber: (number) =>
      group
        .ask('blocks', (node) => node.blockByNumber(number))
        .catch((error: unknown) => {
          if (error instanceof AppError && error.cause === NOT_THERE) return undefined
          throw error
        }),
    blockByHash: (hash) => group.ask('blocks', (node) => node.blockByHash(hash)),
    balanceChanges: (addresses, block) => group.ask('balances', (node) => node.balanceChanges(addresses, block)),
    status: () => group.status(),
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  }
}

/**
 * One execution node, over the pooled HTTP client that the beacon nodes use: faults are told apart and retried in one place, and no
 * error carries an address.
 */
class ExecutionNode implements Askable {
  readonly #node: ChainNode
  readonly #rules: BlockRules & { readonly logsOnly: boolean }
  /** False once the node has said that it does not know eth_getBlockReceipts. */
  #hasBlockReceipts = true

  constructor(node: ChainNode, rules: BlockRules & { readonly logsOnly: boolean }) {
    this.#node = node
    this.#rules = rules
  }

  get name(): string {
    return this.#node.name
  }

  get welcomeFromMs(): number {
    return this.#node.welcomeFromMs
  }

  async chainId(): Promise<number> {
    return Number(await this.#answered(openBatch(this.#node)(chainIdQuestion)))
  }

  async head(): Promise<BlockReference> {
    const block = await this.#answered(openBatch(this.#node)(referenceQuestion('latest')))
    if (block === null) throw this.#node.fault('node_lagging', 'has no block yet')
    return toReference(block)
  }

  async finalized(): Promise<BlockReference | undefined> {
    const asked = openBatch(this.#node)(referenceQuestion('finalized'))
    const block = await this.#answered(asked.catch(nullWithoutFinality))
    return block === null ? undefined : toReference(block)
  }

  async blockByHash(hash: string): Promise<ExecutionBlock> {
    const block = await this.#wholeBlock({ by: 'Hash', id: hash }, (found) => found.hash.toLowerCase() === hash)
    if (block === undefined) throw this.#node.fault('node_lagging', `does not have block ${hash}`)
    return block
  }

  async blockByNumber(number: number): Promise<ExecutionBlock> {
    const name = { by: 'Number', id: `0x${number.toString(16)}` } as const
    const block = await this.#wholeBlock(name, (found) => Number(found.number) === number)
    if (block !== undefined) return block
    throw new AppError('node_lagging', `does not have block ${number}`, { retryable: true, cause: NOT_THERE })
  }

  balanceChanges(
    addresses: readonly string[],
    { hash, parentHash }: Pick<BlockReference, 'hash' | 'parentHash'>,
  ): Promise<readonly (BalanceChange | undefined)[]> {
    const ask = openBatch(this.#node)
    const balanceAt = (address: string, blockHash: string) => ask(balanceQuestion(address, blockHash))
    return Promise.all(
      addresses.map(async (address) => {
        try {
          const [before, after] = await Promise.all([balanceAt(address, parentHash), balanceAt(address, hash)])
          return { beforeWei: BigInt(before), afterWei: BigInt(after) }
        } catch (error) {
          // Nodes without the state say so in many ways; that they do not have it is no fault of theirs.
          if (error instanceof JsonRpcError && !isLimit(error)) return undefined
          throw toFault(this.#node, error)
        }
      }),
    )
  }

  #wholeBlock(name: BlockName, isAsked: (block: NodeBlock) => boolean): Promise<ExecutionBlock | undefined> {
    return this.#rules.logsOnly ? this.#blockWithLogs(name, isAsked) : this.#blockWithReceipts(name, isAsked)
  }

  /** A block with all its logs, asked for by its hash: at once where that is known. */
  async #blockWithLogs(name: BlockName, isAsked: (block: NodeBlock) => boolean): Promise<ExecutionBlock | undefined> {
    const ask = openBatch(this.#node)
    const blockAsked = this.#answered(ask(blockQuestion(name)))
    const logsAsked = name.by === 'Hash' ? this.#answered(ask(logsQuestion(name.id))) : undefined
    logsAsked?.catch(() => undefined) // it is awaited below, where there is a block
    const block = await blockAsked
    if (block === null) return undefined
    this.#refuseOther(block, name, isAsked)
    const logs = await (logsAsked ?? this.#answered(openBatch(this.#node)(logsQuestion(block.hash))))
    if (logs === null) throw this.#node.fault('node_lagging', `does not have the logs of block ${block.hash}`)
    return toExecutionBlockOfLogs(block, logs, this.#rules)
  }

  /** A block with all its receipts, asked for at once and checked against what commits to them. */
  async #blockWithReceipts(
    name: BlockName,
    isAsked: (block: NodeBlock) => boolean,
  ): Promise<ExecutionBlock | undefined> {
    const ask = openBatch(this.#node)
    const blockAsked = this.#answered(ask(blockQuestion(name)))
    const receiptsAsked = this.#hasBlockReceipts ? this.#blockReceipts(ask, name) : undefined
    receiptsAsked?.catch(() => undefined) // it is awaited below, where there is a block
    const block = await blockAsked
    if (block === null) return undefined
    this.#refuseOther(block, name, isAsked)
    const receipts = (await receiptsAsked) ?? (await this.#receiptsOneByOne(block))
    return toExecutionBlock(block, receipts, this.#rules)
  }

  #refuseOther(block: NodeBlock, { id }: BlockName, isAsked: (block: NodeBlock) => boolean): void {
    if (!isAsked(block)) throw this.#node.fault('node_inconsistent', `answered block ${id} with ${block.hash}`)
  }

  /** The receipts of a block, or undefined where the node does not know the method. */
  async #blockReceipts(ask: AskNode, name: BlockName): Promise<readonly NodeReceipt[] | undefined> {
    try {
      const receipts = await ask(receiptsQuestion(name))
      if (receipts === null) throw this.#node.fault('node_lagging', `does not have the receipts of block ${name.id}`)
      return receipts
    } catch (error) {
      if (!(error instanceof JsonRpcError) || !METHOD_MISSING.has(error.code)) throw toFault(this.#node, error)
      this.#hasBlockReceipts = false
      return undefined
    }
  }

  async #receiptsOneByOne({ hash, transactions }: NodeBlock): Promise<readonly NodeReceipt[]> {
    const receipts: NodeReceipt[] = []
    for (let from = 0; from < transactions.length; from += RECEIPTS_PER_BATCH) {
      const ask = openBatch(this.#node)
      const part = transactions.slice(from, from + RECEIPTS_PER_BATCH)
      const found = await this.#answered(Promise.all(part.map((transaction) => ask(receiptQuestion(transaction.hash)))))
      for (const receipt of found) {
        if (receipt === null) throw this.#node.fault('node_lagging', `lacks a receipt of block ${hash}`)
        receipts.push(receipt)
      }
    }
    return receipts
  }

  async #answered<Answer>(asked: Promise<Answer>): Promise<Answer> {
    try {
      return await asked
    } catch (error) {
      throw toFault(this.#node, error)
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#node[Symbol.asyncDispose]()
  }
}

function toReference({ number, hash, parentHash }: NodeReference): BlockReference {
  return { number: Number(number), hash: hash.toLowerCase(), parentHash: parentHash.toLowerCase() }
}

/** Nodes of chains without finality refuse the tag or do not find its block; anything else may pass and must not look like it. */
function nullWithoutFinality(error: unknown): null {
  if (error instanceof JsonRpcError) {
    const { code, message } = error
    if (code === INVALID_PARAMS || code === UNKNOWN_BLOCK) return null
    if (code === SERVER_ERROR && /not found|unknown|unsupported|not supported|invalid/i.test(message)) return null
  }
  throw error
}
