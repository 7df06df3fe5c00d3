import type {
  BeaconBlock,
  BeaconChain,
  BeaconHead,
  BeaconSource,
  FinalizedCheckpoint,
} from '../../infra/ports/beacon-source.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { LoggedBlock } from '../../schemas/events/cursor.ts'
import { ToldCheckpoints } from '../epochs/told-checkpoints.ts'
import type { BlockEvidenceReader } from '../execution/block-evidence.ts'
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
import { refuseOtherExecution, refuseOtherNetwork } from '../right-nodes.ts'
import {
  beaconBlockEvents,
  beaconRevertEvents,
  missedSlotEvents,
  type NamedChain,
  readPayload,
  timeOfSlot,
} from './block-events.ts'
import { latestFinality } from './finality.ts'
import { KnownEnd } from './known-end.ts'

/** A slot may be missed; when a second one passes without news, the event stream counts as silent. */
const SILENT_SLOTS = 2

export interface FollowBeaconHeadOptions extends FollowHeadOptions {
  readonly beacon: BeaconSource
  readonly execution: ExecutionSource
  /** Reads what is known of payments beyond the blocks. */
  readonly evidence?: BlockEvidenceReader
  /** Where a log without a cursor begins; by default at the finalized epoch. */
  readonly startEpoch?: number | undefined
  /** What nodes have told to be final: shared with whoever follows finality. */
  readonly told?: ToldCheckpoints
  /** How often the head is asked for while the node's event stream is silent; a slot. */
  readonly pollMs?: number
  /** Unix milliseconds. */
  readonly now?: () => number
}

/**
 * Follows a beacon chain as its head shows it: `beacon.blocks`, `execution.blocks` and `execution.logs`, with reverts on reorgs.
 * Goes on where the log stops. Resolves when the signal aborts; throws AppError `config` when the log tells of another chain
 * of this name, `lease_lost` when another process writes.
 */
export function followBeaconHead(options: FollowBeaconHeadOptions, signal: AbortSignal): Promise<void> {
  const open = async (): Promise<HeadChain> => {
    const chain = await options.beacon.chain()
    refuseOtherNetwork(options.chain, chain)
    await refuseOtherExecution(options.chain, chain, options.execution)
    return new BeaconHeadChain(options, chain)
  }
  return followHead(open, options, signal)
}

class BeaconHeadChain implements HeadChain {
  readonly #options: FollowBeaconHeadOptions
  readonly #chain: NamedChain
  readonly #checkpoint: Latest<FinalizedCheckpoint>
  readonly #told: ToldCheckpoints
  #end: KnownEnd | undefined
  #final: FinalizedCheckpoint | undefined
  readonly name: string
  identity: string
  readonly head: Latest<BlockRef>

  constructor(options: FollowBeaconHeadOptions, chain: BeaconChain) {
    const { clock } = chain
    const { beacon, chain: name, now = Date.now } = options
    const slotMs = clock.secondsPerSlot * 1_000
    const pollMs = options.pollMs ?? slotMs
    this.#options = options
    this.#chain = { name, clock }
    this.#told = options.told ?? new ToldCheckpoints()
    this.#end = KnownEnd.of(options, chain)
    this.#checkpoint = latestFinality(beacon, clock, { now })
    this.name = name
    this.identity = formatBeaconIdentity(chain)
    this.head = new Latest({
      ask: async () => toRef(await beacon.head()),
      heightOf: ({ height }) => height,
      freshUntilMs: ({ sinceMs, announced }) => sinceMs + (announced ? SILENT_SLOTS * pollMs : pollMs),
      now,
    })
  }

  async final(): Promise<FinalPoint> {
    const checkpoint = await this.#checkpoint.get()
    this.#told.note(checkpoint)
    this.#final = checkpoint
    const end = await (await this.#endNow())?.final(checkpoint, firstSlotOfEpoch(this.#chain.clock, checkpoint.epoch))
    if (end !== undefined) return end
    return { height: firstSlotOfEpoch(this.#chain.clock, checkpoint.epoch), id: checkpoint.root }
  }

  async upTo(head: BlockRef): Promise<BlockRef> {
    return (await (await this.#endNow())?.upTo(head)) ?? head
  }

  /** By the schedule of forks as nodes tell it now. */
  async #endNow(): Promise<KnownEnd | undefined> {
    const chain = await this.#options.beacon.chain()
    this.identity = formatBeaconIdentity(chain)
    if (this.#end?.isOf(chain) !== true) this.#end = KnownEnd.of(this.#options, chain)
    return this.#end
  }

  async confirmFinal({ height, id }: LoggedBlock): Promise<void> {
    if (this.#final === undefined) return
    const root = await this.#options.beacon.finalChain(this.#final).rootAt(height)
    if (root === undefined || root === id) return
    throw new AppError('node_inconsistent', `the final block of slot ${height} is ${root}, a node gave ${id}`, {
      retryable: true,
    })
  }

  refuseOtherFork(blocks: readonly LoggedBlock[]): void {
    if (this.#final === undefined) return
    const named = blocks.map(({ height: slot, id: root }) => ({ slot, root }))
    this.#told.checkAll(this.#chain.clock, this.#final, named)
  }

  async startHeight(): Promise<number> {
    const epoch = this.#options.startEpoch ?? (await this.#checkpoint.get()).epoch
    // The genesis block was not proposed by anybody and pays nobody: the chain of events begins after it.
    return Math.max(1, firstSlotOfEpoch(this.#chain.clock, epoch))
  }

  async blockAt(slot: number): Promise<HeadBlock | undefined> {
    const block = await this.#options.beacon.blockAt(slot)
    return block === undefined ? undefined : this.#toHeadBlock(block)
  }

  async blockById(root: string): Promise<HeadBlock> {
    return this.#toHeadBlock(await this.#options.beacon.blockByRoot(root))
  }

  skipped(from: number, end: number): HeadEvents {
    return missedSlotEvents(this.#chain, from, end)
  }

  reverts(blocks: readonly LoggedBlock[]): HeadEvents {
    return beaconRevertEvents(this.#chain, blocks)
  }

  /** The finalized epochs are a stream of their own. */
  finality(): HeadEvents {
    return NO_HEAD_EVENTS
  }

  timeOf({ height }: LoggedBlock): string {
    return timeOfSlot(this.#chain, height)
  }

  doubt(): void {
    this.head.invalidate()
    this.#checkpoint.invalidate()
  }

  watch(onNews: () => void, signal: AbortSignal): Promise<void> {
    return this.#options.beacon.watch((news) => {
      switch (news.kind) {
        case 'head':
          this.head.update(toRef(news))
          break
        case 'finalized':
          this.#checkpoint.update(news)
          break
        case 'gap':
          this.doubt()
      }
      onNews()
    }, signal)
  }

  #toHeadBlock(block: BeaconBlock): HeadBlock {
    const { slot, root, parentRoot, executionBlockHash, executionBlockNumber } = block
    return {
      parentId: parentRoot,
      logged: { height: slot, id: root, executionBlockHash, executionBlockNumber },
      events: async () => beaconBlockEvents(this.#chain, block, await readPayload(this.#chain, block, this.#options)),
    }
  }
}

function toRef({ slot, root }: BeaconHead): BlockRef {
  return { height: slot, id: root }
}
