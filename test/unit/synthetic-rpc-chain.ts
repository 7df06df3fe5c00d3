import { hexOf } from '../../schemas/eth/hex.ts'
import { type CommittedReceipt, logsBloomOf, receiptsRoot } from '../../schemas/eth/receipts.ts'
import { ABI, logOf } from './given-nft-log.ts'
import { accountOf, sealed, signedTransaction } from './given-rpc-block.ts'
import { openSyntheticNode, type SyntheticNode } from './synthetic-node.ts'

const GENESIS_TIME_SEC = 1_700_000_000
const SECONDS_PER_BLOCK = 3
const GAS_PER_TRANSACTION = 50_000n
const BASE_FEE_WEI = 7n
const SENDER = accountOf('a')
const ZERO_HASH = `0x${'00'.repeat(32)}`
const PEOPLE = ['a1', 'b2', 'c3', 'd4', 'e5'].map((byte) => `0x${byte.repeat(20)}` as const)
const ART = `0x${'01'.repeat(20)}`
const COINS = `0x${'02'.repeat(20)}`
/** keccak256("Approval(address,address,uint256)"): a log that nobody keeps, so that indices of logs have gaps. */
const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'
const TOKENS = 12

type Json = Readonly<Record<string, unknown>>
interface RpcLog {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
}

export interface RpcBlock {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  /** As eth_getBlockByHash tells it. */
  readonly json: Json & { readonly transactions: readonly { readonly hash: string }[] }
  readonly receipts: readonly (Json & { readonly logs: readonly Json[] })[]
}

/** What is wrong with the headers of a chain's blocks. */
export interface RpcChainFlaws {
  /** No receipts make the receipts root. */
  readonly receiptsRoot?: boolean
  /** Every bit is set. */
  readonly bloom?: boolean
}

/** What a node answers instead of a result. */
export class Refusal {
  readonly code: number
  readonly message: string
  constructor(code: number, message: string) {
    this.code = code
    this.message = message
  }
}

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

const quantity = (value: number | bigint): string => `0x${value.toString(16)}`

/**
 * A chain of execution blocks that move tokens, as JSON-RPC tells it: hashes, roots and blooms hold, transactions are signed. The test
 * builds branches and moves head and finality.
 */
export class SyntheticRpcChain {
  #byHash = new Map<string, RpcBlock>()
  readonly #flaws: RpcChainFlaws
  #head!: RpcBlock
  /** Number of the newest final block; undefined for a node without the tag. */
  finalizedNumber: number | undefined = 0
  /** Methods that the node does not know. */
  readonly missing = new Set<string>()
  readonly chainId = 534_352

  private constructor(flaws: RpcChainFlaws) {
    this.#flaws = flaws
  }

  static async open(flaws: RpcChainFlaws = {}): Promise<SyntheticRpcChain> {
    const chain = new SyntheticRpcChain(flaws)
    chain.#head = await chain.#make(0, ZERO_HASH, 'genesis')
    return chain
  }

  /** The same blocks, of which another node may be asked: with a head of its own. */
  view(): SyntheticRpcChain {
    const view = new SyntheticRpcChain(this.#flaws)
    view.#byHash = this.#byHash
    view.#head = this.#head
    view.finalizedNumber = this.finalizedNumber
    return view
  }

  get head(): RpcBlock {
    return this.#head
  }

  /**
   * Adds blocks up to a number on top of the head, or of the block of its chain at `on`, and returns the last one, which is the head
   * then; another `branch` has other blocks.
   */
  async extendTo(number: number, { on, branch = 'a' }: { on?: number; branch?: string } = {}): Promise<RpcBlock> {
    let block = on === undefined ? this.#head : (this.at(on) ?? this.#head)
    while (block.number < number) block = await this.#make(block.number + 1, block.hash, branch)
    this.#head = block
    return block
  }

  /** Makes a block of any branch the head. */
  goTo(block: RpcBlock): void {
    this.#head = block
  }

  /** The block of the head's chain. */
  at(number: number): RpcBlock | undefined {
    let block: RpcBlock | undefined = this.#head
    while (block !== undefined && block.number > number) block = this.#byHash.get(block.parentHash)
    return block?.number === number ? block : undefined
  }

  async #make(number: number, parentHash: string, branch: string): Promise<RpcBlock> {
    const count = number === 0 ? 0 : (number * 7 + branch.length) % 4
    const transactions = await Promise.all(Array.from({ length: count }, (_, i) => transactionOf(number, branch, i)))
    const logsOf = transactions.map((_, i) => movesOf(number, branch, i))
    const receipts = transactions.map(({ hash }, i) => receiptOf(hash, i, logsOf[i] ?? []))
    const bloom = this.#flaws.bloom === true ? `0x${'ff'.repeat(256)}` : hexOf(logsBloomOf(logsOf.flat()))
    const root = hexOf(receiptsRoot(receipts.map(({ committed }) => committed)))
    const json = sealed({
      number: quantity(number),
      parentHash,
      timestamp: quantity(GENESIS_TIME_SEC + SECONDS_PER_BLOCK * number),
      miner: PEOPLE[0] as string,
      extraData: `0x${Buffer.from(branch).toString('hex')}`,
      baseFeePerGas: quantity(BASE_FEE_WEI),
      gasUsed: quantity(GAS_PER_TRANSACTION * BigInt(count)),
      receiptsRoot: this.#flaws.receiptsRoot === true ? ZERO_HASH : root,
      logsBloom: bloom,
      transactions,
    })
    const place = { blockHash: json.hash, blockNumber: quantity(number) }
    let logIndex = 0
    const told = receipts.map(({ committed: _, ...receipt }, i) => ({
      ...receipt,
      ...place,
      logs: receipt.logs.map((log) => ({
        ...log,
        ...place,
        transactionHash: receipt.transactionHash,
        transactionIndex: quantity(i),
        logIndex: quantity(logIndex++),
        removed: false,
      })),
    }))
    const block = { number, hash: json.hash, parentHash, json, receipts: told }
    this.#byHash.set(block.hash, block)
    return block
  }

  /** The result of a call, or a refusal. */
  answer(method: string, [first]: readonly unknown[]): unknown {
    if (this.missing.has(method)) return new Refusal(-32_601, `the method ${method} does not exist`)
    switch (method) {
      case 'eth_chainId':
        return quantity(this.chainId)
      case 'eth_getBlockByNumber':
      case 'eth_getBlockByHash':
        return this.#find(first)?.json ?? null
      case 'eth_getBlockReceipts':
        return this.#find(first)?.receipts ?? null
      case 'eth_getLogs': {
        const block = this.#find((first as { readonly blockHash?: unknown }).blockHash)
        return block === undefined ? new Refusal(-32_000, 'unknown block') : block.receipts.flatMap(({ logs }) => logs)
      }
      case 'eth_getTransactionReceipt':
        return this.#receiptOf(first) ?? null
      default:
        return new Refusal(-32_601, `the method ${method} does not exist`)
    }
  }

  #find(name: unknown): RpcBlock | undefined {
    if (name === 'latest') return this.#head
    if (name === 'finalized') return this.finalizedNumber === undefined ? undefined : this.at(this.finalizedNumber)
    const text = String(name)
    return text.length === ZERO_HASH.length ? this.#byHash.get(text) : this.at(Number(text))
  }

  /** Of the head's chain: a transaction may be in a block of another branch, too. */
  #receiptOf(transactionHash: unknown): Json | undefined {
    for (
      let block: RpcBlock | undefined = this.#head;
      block !== undefined;
      block = this.#byHash.get(block.parentHash)
    ) {
      const receipt = block.receipts.find((one) => one.transactionHash === transactionHash)
      if (receipt !== undefined) return receipt
    }
    return undefined
  }
}

/** A node of the chain; `change` may give another result than the true one. */
export function openRpcNode(
  chain: SyntheticRpcChain,
  change: (method: string, result: unknown, params: readonly unknown[]) => unknown = (_, result) => result,
): Promise<SyntheticNode> {
  return openSyntheticNode(({ body }) => {
    const parsed = JSON.parse(body) as Call | Call[]
    const answers = [parsed].flat().map(({ id, method, params }) => {
      const result = change(method, chain.answer(method, params), params)
      return result instanceof Refusal ? { jsonrpc: '2.0', id, error: result } : { jsonrpc: '2.0', id, result }
    })
    return { json: Array.isArray(parsed) ? answers : answers[0] }
  })
}

function transactionOf(number: number, branch: string, i: number) {
  return signedTransaction(SENDER, {
    type: 'eip1559',
    chainId: 534_352,
    nonce: number * 10 + i,
    to: ART as `0x${string}`,
    value: 0n,
    gas: GAS_PER_TRANSACTION,
    maxFeePerGas: 100n,
    maxPriorityFeePerGas: 2n,
    data: `0x${Buffer.from(branch).toString('hex')}`,
  })
}

/** Tokens that move in a transaction, by what it is: the same everywhere. */
function movesOf(number: number, branch: string, i: number): readonly RpcLog[] {
  const pick = (salt: number, of: number): number => (number * 31 + branch.charCodeAt(0) * 17 + i * 5 + salt * 13) % of
  const [from, to] = [PEOPLE[pick(1, PEOPLE.length)], PEOPLE[pick(2, PEOPLE.length)]]
  const id = BigInt(pick(3, TOKENS))
  const single = logOf(ABI, 'Transfer', { from, to, tokenId: id })
  const many = logOf(ABI, 'TransferSingle', { operator: from, from, to, id, value: BigInt(1 + pick(4, 100)) })
  const approval = { address: ART, topics: [APPROVAL, ZERO_HASH, ZERO_HASH], data: ZERO_HASH }
  return [told(ART, single), approval, told(COINS, many)]
}

function told(address: string, { topics, data }: { readonly topics: Uint8Array; readonly data: Uint8Array }): RpcLog {
  const words = hexOf(topics).slice(2).match(/.{64}/g) ?? []
  return { address, topics: words.map((word) => `0x${word}`), data: hexOf(data) }
}

function receiptOf(transactionHash: string, i: number, logs: readonly RpcLog[]) {
  const cumulativeGasUsed = GAS_PER_TRANSACTION * BigInt(i + 1)
  const logsBloom = hexOf(logsBloomOf(logs))
  const committed: CommittedReceipt = { type: 2, status: 'success', cumulativeGasUsed, logs, logsBloom }
  return {
    transactionHash,
    transactionIndex: quantity(i),
    type: '0x2',
    status: '0x1',
    cumulativeGasUsed: quantity(cumulativeGasUsed),
    gasUsed: quantity(GAS_PER_TRANSACTION),
    effectiveGasPrice: quantity(BASE_FEE_WEI + 2n),
    contractAddress: null,
    logsBloom,
    logs,
    committed,
  }
}
