import type { BlockReference, ExecutionBlock, ExecutionSource } from '../../infra/ports/execution-source.ts'
import { chainKey } from '../../schemas/chains.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatExecutionIdentity } from '../../schemas/eth/chain-identity.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import type { LoggedBlock } from '../../schemas/events/cursor.ts'
import { executionFinalized } from '../../schemas/events/execution-finality.ts'
import {
  type BlockRef,
  type FinalPoint,
  type HeadBlock,
  type HeadChain,
  type HeadEvents,
  NO_HEAD_EVENTS,
} from '../head/head-chain.ts'
import { type FollowHeadOptions, followHead } from '../head/head-follower.ts'
import { Latest } from '../latest.ts'
import { executionBlockEvents, executionRevertEvent } from './block-events.ts'

/** JSON-RPC over HTTP announces nothing: the head is asked for. Rollups make blocks every 2 to 3 seconds. */
const HEAD_POLL_MS = 3_000
/** Finality moves by many blocks at a time, minutes apart. */
const FINALITY_POLL_MS = 15_000
/** Where the node has no `finalized` tag: two epochs of Ethereum's blocks, after which its own blocks are final. */
export const FINALITY_DEPTH_BLOCKS = 64

export interface FollowExecutionHeadOptions extends FollowHeadOptions {
  readonly execution: ExecutionSource
  /** Where a log without a cursor begins; by default at the newest final block. */
  readonly startBlock?: number | undefined
  /** Blocks on top of a block that make it final where the node does not tell of finality. */
  readonly finalityDepth?: number | undefined
  /** How often the head is asked for. */
  readonly pollMs?: number
  /** How often finality is asked for. */
  readonly finalityPollMs?: number
  /** Unix milliseconds. */
  readonly now?: () => number
}

/**
 * Follows a chain without a beacon chain as its head shows it: `execution.blocks` and `execution.logs`, with reverts on reorgs and
 * with the blocks up to which it is final. Goes on where the log stops. Resolves when the signal aborts; throws AppError
 * `config` when the log tells of another chain of this name, `lease_lost` when another process writes.
 */
export function followExecutionHead(options: FollowExecutionHeadOptions, signal: AbortSignal): Promise<void> {
  const open = async (): Promise<HeadChain> =>
    new ExecutionHeadChain(options, await executionIdentity(options.execution))
  return followHead(open, options, signal)
}

/** What names a chain without a beacon chain. Throws AppError of a node fault. */
export async function executionIdentity(execution: ExecutionSource): Promise<string> {
  const [chainId, genesisHash] = await Promise.all([execution.chainId(), genesisHashOf(execution)])
  return formatExecutionIdentity({ chainId, genesisHash })
}

/** Undefined where the node no longer has the genesis block. */
async function genesisHashOf(execution: ExecutionSource): Promise<string | undefined> {
  try {
    return (await execution.blockByNumber(0))?.header.hash
  } catch (error) {
    if (error instanceof AppError && error.code === 'node_lagging') return undefined
    throw error
  }
}

export class ExecutionHeadChain implements HeadChain {
  readonly #options: FollowExecutionHeadOptions
  /** By the node's tag; null where it has none. */
  readonly #tagged: Latest<BlockReference | null>
  #lastTagged: BlockReference | null = null
  readonly name: string
  readonly identity: string
  readonly head: Latest<BlockRef>

  constructor(options: FollowExecutionHeadOptions, identity: string) {
    const { execution, chain, pollMs = HEAD_POLL_MS, finalityPollMs = FINALITY_POLL_MS, now = Date.now } = options
    this.#options = options
    this.name = chain
    this.identity = identity
    this.head = new Latest({
      ask: async () => toRef(await execution.head()),
      heightOf: ({ height }) => height,
      freshUntilMs: ({ sinceMs }) => sinceMs + pollMs,
      now,
    })
    this.#tagged = new Latest({
      // A node that has told of it before and does not now lags: by depth, more might seem final than is.
      ask: async () => {
        this.#lastTagged = (await execution.finalized()) ?? this.#lastTagged
        return this.#lastTagged
      },
      heightOf: (block) => block?.number ?? 0,
      freshUntilMs: ({ sinceMs }) => sinceMs + finalityPollMs,
      now,
    })
  }

  async final(): Promise<FinalPoint> {
    const tagged = await this.#tagged.get()
    if (tagged !== null) return toRef(tagged)
    const { height } = await this.head.get()
    return { height: Math.max(0, height - (this.#options.finalityDepth ?? FINALITY_DEPTH_BLOCKS)), id: undefined }
  }

  async startHeight(): Promise<number> {
    // Nobody made the genesis block, and nothing happens in it: the chain of events begins after it.
    return Math.max(1, this.#options.startBlock ?? (await this.final()).height)
  }

  async blockAt(number: number): Promise<HeadBlock> {
    const block = await this.#options.execution.blockByNumber(number)
    if (block !== undefined) return this.#toHeadBlock(block)
    throw new AppError('node_lagging', `the node does not have block ${number}`, { retryable: true })
  }

  async blockById(hash: string): Promise<HeadBlock> {
    return this.#toHeadBlock(await this.#options.execution.blockByHash(hash))
  }

  skipped(): HeadEvents {
    return NO_HEAD_EVENTS
  }

  reverts(blocks: readonly LoggedBlock[]): HeadEvents {
    const reverts = blocks.map((block) =>
      executionRevertEvent(this.name, { number: block.height, hash: block.id }, this.timeOf(block)),
    )
    return { ...NO_HEAD_EVENTS, 'execution.blocks': reverts }
  }

  finality(block: LoggedBlock): HeadEvents {
    const { height: number, id: hash } = block
    const finalized = encodeEvent(executionFinalized, {
      id: `execution.finalized:${this.name}:${number}`,
      key: chainKey(this.name),
      time: this.timeOf(block),
      data: { chain: this.name, number, hash },
    })
    return { ...NO_HEAD_EVENTS, 'execution.blocks': [finalized] }
  }

  timeOf({ timestampSec = 0 }: LoggedBlock): string {
    return formatInstant(timestampSec)
  }

  /** Its nodes tell of finality by a number or a depth, which contradict nothing. */
  async confirmFinal(): Promise<void> {}
  refuseOtherFork(): void {}

  doubt(): void {
    this.head.invalidate()
    this.#tagged.invalidate()
  }

  async watch(): Promise<void> {}

  #toHeadBlock(block: ExecutionBlock): HeadBlock {
    const { number, hash, parentHash, timestampSec } = block.header
    const logged = { height: number, id: hash, executionBlockHash: hash, executionBlockNumber: number, timestampSec }
    const events = async () => {
      const { blocks, logs } = executionBlockEvents(this.name, block, this.timeOf(logged))
      return { ...NO_HEAD_EVENTS, 'execution.logs': logs, 'execution.blocks': blocks }
    }
    return { parentId: parentHash, logged, events }
  }
}

function toRef({ number, hash }: BlockReference): BlockRef {
  return { height: number, id: hash }
}
