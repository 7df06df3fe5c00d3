import type { BlockReference, ExecutionBlock, ExecutionSource } from '../../infra/ports/execution-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { NO_LOGS, transactionColumns } from './execution-columns.ts'

const GENESIS_TIME_SEC = 1_600_000_000
const BLOCK_TIME_SEC = 3

export const hashOf = (name: string) => `0x${Buffer.from(name).toString('hex').padStart(64, '0').slice(-64)}`

/** An execution block without transactions. */
export function emptyBlock(reference: BlockReference): ExecutionBlock {
  return {
    header: {
      ...reference,
      timestampSec: GENESIS_TIME_SEC + reference.number * BLOCK_TIME_SEC,
      coinbase: `0x${'00'.repeat(20)}`,
      extraData: '0x',
      baseFeePerGasWei: '7',
      gasUsed: 0,
    },
    matchesHash: true,
    logsCheck: 'receipts',
    hasOutcomes: true,
    provenSenders: [],
    withdrawals: [],
    columns: transactionColumns([]),
    logs: NO_LOGS,
  }
}

/** A chain of named execution blocks at the port, without a beacon chain: the test builds branches and moves the head and finality. */
export class SyntheticExecutionChain {
  readonly #blocks = new Map<string, BlockReference>()
  #head = this.#put('genesis', 0, 'before')
  /** Number of the newest final block; undefined for a node without the `finalized` tag. */
  finalizedNumber: number | undefined = 0
  chainId = 534_352
  /** Blocks before this one are no longer told of by number. */
  prunedBelow = 0
  /** Called before each answer: throws to make the question fail. */
  before: (question: string) => void = () => {}

  #put(name: string, number: number, parent: string): BlockReference {
    const block = { number, hash: hashOf(name), parentHash: hashOf(parent) }
    this.#blocks.set(block.hash, block)
    return block
  }

  /** Adds a block on top of a named one and makes it the head. */
  extend(name: string, number: number, parent: string): void {
    this.#head = this.#put(name, number, parent)
  }

  /** Adds blocks named by their numbers on top of a named block: b3, b4, … */
  extendRange(from: number, to: number, parent: string, prefix = 'b'): void {
    for (let number = from; number <= to; number++) {
      this.extend(`${prefix}${number}`, number, number === from ? parent : `${prefix}${number - 1}`)
    }
  }

  #canonicalAt(number: number): BlockReference | undefined {
    let block: BlockReference | undefined = this.#head
    while (block !== undefined && block.number > number) block = this.#blocks.get(block.parentHash)
    return block?.number === number ? block : undefined
  }

  #answer<Answer>(question: string, answer: () => Answer): Promise<Answer> {
    return Promise.resolve().then(() => {
      this.before(question)
      return answer()
    })
  }

  readonly source: ExecutionSource = {
    chainId: () => this.#answer('chain id', () => this.chainId),
    head: () => this.#answer('head', () => this.#head),
    finalized: () =>
      this.#answer('finalized', () =>
        this.finalizedNumber === undefined ? undefined : this.#canonicalAt(this.finalizedNumber),
      ),
    blockByNumber: (number) =>
      this.#answer(`number ${number}`, () => {
        const block = number < this.prunedBelow ? undefined : this.#canonicalAt(number)
        return block === undefined ? undefined : emptyBlock(block)
      }),
    blockByHash: (hash) =>
      this.#answer(`hash ${hash}`, () => {
        const block = this.#blocks.get(hash)
        if (block !== undefined) return emptyBlock(block)
        throw new AppError('node_lagging', `the node does not have block ${hash}`, { retryable: true })
      }),
    balanceChanges: async (addresses) => addresses.map(() => undefined),
    status: () => [],
    [Symbol.asyncDispose]: async () => {},
  }
}
