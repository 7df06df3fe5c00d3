import type { BeaconBlock, BeaconHead, BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { inOrder } from '../in-order.ts'
import { pause, Waker, withPatience } from '../retry.ts'
import { HeadLog, hasExecutionBlock, type WholeBlock } from './head-log.ts'

/** Key of the follower's cursor. */
export const HEAD_CURSOR = 'head'
/** Blocks of one append: about a megabyte of mainnet's execution blocks. */
const BLOCKS_PER_APPEND = 32
/** Blocks that are read at once where nobody says otherwise. */
const BLOCKS_AHEAD = 16
/** Without a wake from the node's event stream the follower looks this often. */
const POLL_MS = 2_000
const ROUND_PAUSE_MS = 30

export interface FollowHeadOptions {
  readonly beacon: BeaconSource
  readonly execution: ExecutionSource
  readonly eventLog: EventLog
  readonly log: Log
  /** The newest slot of the log, and of the chain. */
  readonly onProgress?: (progress: { readonly slot: number; readonly headSlot: number }) => void
  /** Where a log without a cursor begins; by default at the finalized epoch. */
  readonly startEpoch?: number | undefined
  /** Blocks that are read at once. */
  readonly concurrency?: number
  readonly pollMs?: number
  /** Wait before the first repetition after an outage. */
  readonly outageWaitMs?: number
}

/**
 * Follows the chain as the head shows it: `beacon.blocks` and `execution.blocks`, with reverts on reorgs. Goes on where the
 * log stops. Resolves when the signal aborts; throws AppError `config` when the log tells of another chain.
 */
export async function followHead(options: FollowHeadOptions, signal: AbortSignal): Promise<void> {
  const patience = { log: options.log, signal, what: 'following the head', firstMs: options.outageWaitMs }
  const waker = new Waker()
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const watching = options.beacon.watch((news) => news === 'head' && waker.wake(), either)
  watching.catch(() => stop.abort()) // it is awaited below
  try {
    const follower = await withPatience(patience, () => HeadFollower.open(options, signal))
    while (follower !== undefined && !either.aborted) {
      const moved = await withPatience({ ...patience, signal: either }, () => follower.round(either))
      // Slots of a chain in time-lapse come faster than rounds pay: several are taken together.
      await pause(ROUND_PAUSE_MS, either)
      if (moved === false) await waker.wait(options.pollMs ?? POLL_MS, either)
    }
  } finally {
    stop.abort()
    await watching
  }
}

class HeadFollower {
  readonly #options: FollowHeadOptions
  readonly #log: HeadLog
  readonly #slotsPerEpoch: number
  readonly #aheadMax: number

  private constructor(options: FollowHeadOptions, log: HeadLog, slotsPerEpoch: number) {
    this.#options = options
    this.#log = log
    this.#slotsPerEpoch = slotsPerEpoch
    this.#aheadMax = options.concurrency ?? BLOCKS_AHEAD
  }

  static async open(options: FollowHeadOptions, signal: AbortSignal): Promise<HeadFollower> {
    const chain = await options.beacon.chain()
    const startSlot = async () =>
      firstSlotOfEpoch(chain.clock, options.startEpoch ?? (await options.beacon.finalized()).epoch)
    const log = await HeadLog.open({ eventLog: options.eventLog, chain, key: HEAD_CURSOR, startSlot, signal })
    return new HeadFollower(options, log, chain.clock.slotsPerEpoch)
  }

  /** One step towards the head; false when the log is there. */
  async round(signal: AbortSignal): Promise<boolean> {
    const { beacon } = this.#options
    await this.#log.settle()
    const [head, checkpoint] = await Promise.all([beacon.head(), beacon.finalized()])
    const finalSlot = checkpoint.epoch * this.#slotsPerEpoch
    const behind = finalSlot - this.#log.next
    const moved =
      (behind >= this.#slotsPerEpoch && (await this.#catchUp(finalSlot, head.slot, signal))) ||
      (await this.#moveTo(head, signal))
    // Only now are the log's blocks known to be those of the final chain.
    if (moved) this.#log.prune(Math.min(finalSlot, this.#log.next - 1))
    this.#tell(head.slot)
    return moved
  }

  #tell(headSlot: number): void {
    const slot = this.#log.next - 1
    this.#options.onProgress?.({ slot, headSlot: Math.max(headSlot, slot) })
  }

  /** Final slots are read side by side and appended in order; false when there was no block among them. */
  async #catchUp(finalSlot: number, headSlot: number, signal: AbortSignal): Promise<boolean> {
    const { beacon } = this.#options
    const from = this.#log.next
    const to = Math.min(finalSlot, from + BLOCKS_PER_APPEND * this.#slotsPerEpoch - 1)
    const slots = inOrder({ from, to, aheadMax: this.#aheadMax }, async (slot) => {
      const block = await beacon.blockAt(slot)
      return block === undefined ? undefined : this.#whole(block)
    })
    let moved = false
    let batch: WholeBlock[] = []
    const flush = async () => {
      if (batch.length === 0) return
      const joining = await this.#wayBack(batch[0]?.block.parentRoot)
      const reverted = this.#log.tip === undefined ? [] : this.#log.after(joining.parentRoot)
      await this.#log.replace(reverted, [...joining.blocks, ...batch], true)
      batch = []
      moved = true
      this.#tell(headSlot)
    }
    let parent: string | undefined
    for await (const whole of slots) {
      if (signal.aborted) break
      if (whole === undefined) continue
      // A slot counts as missed only between a block and its child.
      if (parent !== undefined && whole.block.parentRoot !== parent) throw brokenChain(whole.block)
      parent = whole.block.root
      batch.push(whole)
      if (batch.length === BLOCKS_PER_APPEND) await flush()
    }
    await flush()
    return moved
  }

  /** Walks back from the head to a block of the log, reverts what the way leaves out, and appends the way. */
  async #moveTo(head: BeaconHead, signal: AbortSignal): Promise<boolean> {
    if (head.root === this.#log.tip?.root || head.slot < this.#firstSlotOfWay()) return false
    const way = await this.#wayTo(head)
    const [first] = way
    // A head that the log has passed belongs to a node that is behind, or to a reorg whose new block is still to come.
    if (first === undefined) return false
    let reverted = this.#log.tip === undefined ? [] : this.#log.after(first.parentRoot)
    if (reverted.length > 0) {
      this.#options.log.info({ depth: reverted.length, slot: reverted[0]?.slot }, 'the chain was reorganised')
    }
    const whole = inOrder({ from: 0, to: way.length - 1, aheadMax: this.#aheadMax }, (i) =>
      this.#whole(way[i] as BeaconBlock),
    )
    let batch: WholeBlock[] = []
    for await (const block of whole) {
      if (signal.aborted) return true
      batch.push(block)
      if (batch.length < BLOCKS_PER_APPEND) continue
      await this.#log.replace(reverted, batch, false)
      batch = []
      reverted = []
    }
    if (batch.length > 0) await this.#log.replace(reverted, batch, false)
    return true
  }

  #firstSlotOfWay(): number {
    return this.#log.oldest?.slot ?? this.#log.next
  }

  /** The blocks from after the log's chain (or its start) up to the head, oldest first. */
  async #wayTo(head: BeaconHead): Promise<readonly BeaconBlock[]> {
    const { beacon } = this.#options
    const nearby = await this.#blocksBySlot(head.slot)
    const way: BeaconBlock[] = []
    const firstSlot = this.#firstSlotOfWay()
    for (let root = head.root; this.#log.indexOf(root) === -1; ) {
      const block: BeaconBlock = nearby.get(root) ?? (await beacon.blockByRoot(root))
      if (this.#log.tip !== undefined && block.slot <= firstSlot) throw brokenChain(block)
      if (block.slot >= firstSlot) way.push(block)
      if (this.#log.tip === undefined && block.slot <= firstSlot) break
      root = block.parentRoot
    }
    return way.reverse()
  }

  /** Reads the slots up to the head side by side; what is canonical among them the walk decides. */
  async #blocksBySlot(headSlot: number): Promise<ReadonlyMap<string, BeaconBlock>> {
    const blocks = new Map<string, BeaconBlock>()
    const { next } = this.#log
    const slots = inOrder({ from: next, to: headSlot - 1, aheadMax: this.#aheadMax }, (slot) =>
      this.#options.beacon.blockAt(slot),
    )
    for await (const block of slots) if (block !== undefined) blocks.set(block.root, block)
    return blocks
  }

  /** Final blocks between the log's chain and a block with this parent: some, when what the log ends with was orphaned. */
  async #wayBack(parentRoot = ''): Promise<{ readonly blocks: readonly WholeBlock[]; readonly parentRoot: string }> {
    const blocks: WholeBlock[] = []
    let parent = parentRoot
    while (this.#log.tip !== undefined && this.#log.indexOf(parent) === -1) {
      const block = await this.#options.beacon.blockByRoot(parent)
      if (block.slot <= this.#firstSlotOfWay()) throw brokenChain(block)
      blocks.unshift(await this.#whole(block))
      parent = block.parentRoot
    }
    return { blocks, parentRoot: parent }
  }

  async #whole(block: BeaconBlock): Promise<WholeBlock> {
    const execution = hasExecutionBlock(block)
      ? await this.#options.execution.blockByHash(block.executionBlockHash)
      : undefined
    return { block, execution }
  }
}

function brokenChain(block: BeaconBlock): AppError {
  return new AppError(
    'node_inconsistent',
    `block ${block.root} of slot ${block.slot} does not continue the chain before it`,
    { retryable: true },
  )
}
