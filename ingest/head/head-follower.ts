import type { Log } from '../../infra/ports/log.ts'
import { AppError, isNodeFault } from '../../schemas/errors.ts'
import type { LoggedBlock } from '../../schemas/events/cursor.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { pause } from '../../schemas/wait.ts'
import type { ChainLog } from '../cursor.ts'
import { inOrder } from '../in-order.ts'
import { Waker } from '../waker.ts'
import { type BlockRef, type FinalPoint, HEAD_TOPICS, type HeadBlock, type HeadChain } from './head-chain.ts'
import { HeadLog, type ReadBlock } from './head-log.ts'

/** Blocks of one append: some megabytes of mainnet's. */
const BLOCKS_PER_APPEND = 32
/** An append ends with the block that makes it as large as this: blocks that are full of logs have megabytes each. */
const APPEND_BYTES = 8 * 1024 * 1024
/** Blocks that are read at once where nobody says otherwise. */
const BLOCKS_AHEAD = 16
/** So far behind finality, final blocks are read by height, which takes no walk back from the head. */
const CATCH_UP_HEIGHTS_MIN = 32
/** Heights of one round of catching up: between two rounds the node is asked how far it is. */
const CATCH_UP_HEIGHTS_MAX = 1_024
/** Heights of one step towards the head: the walk back from its end holds that many blocks in memory. Shorter where nodes fail on the way. */
const STEP_HEIGHTS_MAX = 256
/**
 * Slots of a chain in time-lapse come faster than rounds pay: several are taken together. A round costs five transactions of the log,
 * two of them with all blocks that are not final, whether it takes one slot or twenty. A slot that comes alone finds nobody pausing.
 */
const ROUND_PAUSE_MS = 250
/** Reorgs that nobody needs to hear of: chains have them every day. */
const USUAL_DEPTH_MAX = 3

export interface FollowHeadOptions extends ChainLog {
  readonly log: Log
  /** Name of the follower's cursor. */
  readonly cursor?: string
  /** The newest slot or block number of the log, and of the chain. */
  readonly onProgress?: (progress: { readonly height: number; readonly headHeight: number }) => void
  /** Blocks that are read at once. */
  readonly concurrency?: number
  /** Wait before the first repetition after an outage. */
  readonly outageWaitMs?: number
}

/**
 * Follows a chain as its head shows it, with reverts on reorgs. Goes on where the log stops; nodes that are away, at the start
 * too, are waited for. Resolves when the signal aborts, and when the log is behind the chain's `endHeight`. Throws AppError `config` when the log tells of another chain of this
 * name, and `lease_lost` when another process writes: whoever gets the lease then starts a follower, which reads the log anew.
 */
export async function followHead(
  open: () => Promise<HeadChain>,
  options: FollowHeadOptions,
  signal: AbortSignal,
): Promise<void> {
  const what = `following the head of ${options.chain}`
  const retry = { log: options.log, signal, what, firstMs: options.outageWaitMs }
  const chain = await retryWithBackoff(retry, open)
  const log = chain && (await retryWithBackoff(retry, () => HeadLog.open(options, chain, signal)))
  if (chain === undefined || log === undefined) return
  const follower = new HeadFollower(options, chain, log)
  const waker = new Waker()
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const watching = chain.watch(waker.wake, either)
  watching.catch(() => stop.abort()) // it is awaited below
  try {
    while (!either.aborted) {
      const moved = await retryWithBackoff({ ...retry, signal: either }, () =>
        doubting(chain, () => follower.round(either)),
      )
      if (chain.endHeight !== undefined && log.next > chain.endHeight) return
      await pause(ROUND_PAUSE_MS, either)
      if (moved === false) await waker.wait(chain.head.freshForMs, either)
    }
  } finally {
    stop.abort()
    await watching
  }
}

/** A head that nobody has may have been announced by mistake; without a doubt it would be tried until the next one. */
async function doubting<Result>(chain: HeadChain, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    chain.doubt()
    throw error
  }
}

class HeadFollower {
  readonly #options: FollowHeadOptions
  readonly #chain: HeadChain
  readonly #log: HeadLog
  readonly #concurrency: number
  #stepHeights = STEP_HEIGHTS_MAX

  constructor(options: FollowHeadOptions, chain: HeadChain, log: HeadLog) {
    this.#options = options
    this.#chain = chain
    this.#log = log
    this.#concurrency = options.concurrency ?? BLOCKS_AHEAD
  }

  /** One step towards the head; false when the log is there. */
  async round(signal: AbortSignal): Promise<boolean> {
    await this.#log.settle()
    const [newest, final] = await Promise.all([this.#chain.head.get(), this.#chain.final()])
    const head = (await this.#chain.upTo?.(newest)) ?? newest
    const behind = final.height - this.#log.next
    const moved =
      (behind >= CATCH_UP_HEIGHTS_MIN && (await this.#catchUp(final.height, head.height, signal))) ||
      (await this.#step(head, signal))
    // Only now are the log's blocks known to be those of the final chain.
    if (moved || head.id === this.#log.tip?.id) await this.#finalize(final)
    this.#report(newest.height)
    return moved
  }

  #report(headHeight: number): void {
    const height = this.#log.next - 1
    this.#options.onProgress?.({ height, headHeight: Math.max(headHeight, height) })
  }

  /** Forgets what can no longer be reverted, and tells how far the log is final once it holds the final block itself. */
  async #finalize({ height, id }: FinalPoint): Promise<void> {
    const newest = this.#log.newestUpTo(height)
    const isThere = newest !== undefined && (this.#log.tip?.height ?? 0) >= height
    if (isThere && id !== undefined && newest.id !== id) {
      throw new AppError('node_inconsistent', `the final block ${id} is not in the chain of the head`, {
        retryable: true,
      })
    }
    // What is forgotten can no longer be reverted.
    this.#chain.refuseOtherFork(this.#log.blocks)
    this.#log.prune(Math.min(height, this.#log.next - 1) - (this.#chain.finalKept ?? 0))
    if (isThere) await this.#log.finalize(newest)
  }

  /** Final blocks are read side by side and appended in order; false when there was none up to the final height. */
  async #catchUp(finalHeight: number, headHeight: number, signal: AbortSignal): Promise<boolean> {
    const from = this.#log.next
    const to = Math.min(finalHeight, from + CATCH_UP_HEIGHTS_MAX - 1)
    const blocks = inOrder({ from, to, concurrency: this.#concurrency }, async (height) => {
      const block = await this.#chain.blockAt(height)
      return block === undefined ? undefined : readBlock(block)
    })
    let moved = false
    let batch: ReadBlock[] = []
    const flush = async () => {
      const [first, ...rest] = batch
      if (first === undefined) return false
      const joining = await (this.#log.tip === undefined ? this.#wayToStart(first) : this.#wayBack(first.parentId))
      const reverted = this.#log.tip === undefined ? [] : this.#log.after(joining.parentId)
      const [joined = first, ...others] = [...joining.blocks, first]
      // Blocks were asked for by height, of nodes that may be on another fork, and what is final is not reverted.
      await this.#chain.confirmFinal((rest.at(-1) ?? first).logged)
      await this.#log.replace(reverted, [joined, ...others, ...rest], true)
      batch = []
      moved = true
      this.#report(headHeight)
      return true
    }
    let parent: string | undefined
    const take = async () => {
      for await (const block of blocks) {
        if (signal.aborted) return
        if (block === undefined) continue
        // A height counts as skipped only between a block and its child.
        if (parent !== undefined && block.parentId !== parent) {
          batch = [] // which of the two is of another fork, nobody knows
          throw brokenChain(block.logged)
        }
        parent = block.logged.id
        batch.push(block)
        if (isFull(batch)) await flush()
      }
    }
    await keepingWhatWasRead(take, flush)
    return moved
  }

  /** Moves towards the head; a step that fails is shorter the next time, so that nodes which fail now and then do not keep the log from moving. */
  async #step(head: BlockRef, signal: AbortSignal): Promise<boolean> {
    try {
      const moved = await this.#moveTo(await this.#nextStep(head), signal)
      this.#stepHeights = Math.min(STEP_HEIGHTS_MAX, 2 * this.#stepHeights)
      return moved
    } catch (error) {
      this.#stepHeights = Math.max(1, Math.floor(this.#stepHeights / 2))
      throw error
    }
  }

  /** The head, or where it is far away a block of its chain on the way to it. */
  async #nextStep(head: BlockRef): Promise<BlockRef> {
    for (let height = this.#log.next + this.#stepHeights; height < head.height; height++) {
      const block = await this.#chain.blockAt(height)
      if (block !== undefined) return block.logged
    }
    return head
  }

  /** Walks back from the head to a block of the log, reverts what the way leaves out, and appends the way. */
  async #moveTo(head: BlockRef, signal: AbortSignal): Promise<boolean> {
    if (head.id === this.#log.tip?.id || head.height < this.#firstHeightOfWay()) return false
    const way = await this.#wayTo(head)
    const [first] = way
    // A head that the log has passed belongs to a node that is behind, or to a reorg whose new block is still to come.
    if (first === undefined) return false
    let reverted = this.#log.tip === undefined ? [] : this.#log.after(first.parentId)
    if (reverted.length > 0) {
      const { chain, log } = this.#options
      const fields = { chain, depth: reverted.length, height: reverted[0]?.height }
      if (reverted.length > USUAL_DEPTH_MAX)
        log.warn(fields, `the chain was reorganised, ${reverted.length} blocks deep`)
      else log.debug(fields, 'the chain was reorganised')
    }
    const blocks = inOrder({ from: 0, to: way.length - 1, concurrency: this.#concurrency }, (i) =>
      readBlock(way[i] as HeadBlock),
    )
    let batch: ReadBlock[] = []
    const flush = async () => {
      const [oldest, ...rest] = batch
      if (oldest === undefined) return false
      await this.#log.replace(reverted, [oldest, ...rest], false)
      batch = []
      reverted = []
      return true
    }
    const take = async () => {
      for await (const block of blocks) {
        if (signal.aborted) return
        batch.push(block)
        if (isFull(batch)) await flush()
      }
    }
    await keepingWhatWasRead(take, flush)
    return true
  }

  #firstHeightOfWay(): number {
    return this.#log.oldest?.height ?? this.#log.next
  }

  /** The blocks from after the log's chain (or its start) up to the head, oldest first. */
  async #wayTo(head: BlockRef): Promise<readonly HeadBlock[]> {
    const way: HeadBlock[] = []
    const firstHeight = this.#firstHeightOfWay()
    let nearby: ReadonlyMap<string, HeadBlock> | undefined
    for (let id = head.id; this.#log.indexOf(id) === -1; ) {
      const block: HeadBlock = nearby?.get(id) ?? (await this.#chain.blockById(id))
      const { height } = block.logged
      if (this.#log.tip !== undefined && height <= firstHeight) throw brokenChain(block.logged)
      if (height >= firstHeight) way.push(block)
      if (this.#log.tip === undefined && height <= firstHeight) break
      id = block.parentId
      // One block follows the log's mostly; where more do, they are read before the walk comes by.
      if (this.#log.indexOf(id) === -1) nearby ??= await this.#blocksUpTo(height - 1)
    }
    return way.reverse()
  }

  /** Reads the heights after the log's side by side; what is canonical among them the walk decides. */
  async #blocksUpTo(to: number): Promise<ReadonlyMap<string, HeadBlock>> {
    const blocks = new Map<string, HeadBlock>()
    const range = { from: this.#log.next, to, concurrency: this.#concurrency }
    for await (const block of inOrder(range, (height) => this.#chain.blockAt(height))) {
      if (block !== undefined) blocks.set(block.logged.id, block)
    }
    return blocks
  }

  /** Final blocks between the log's chain and a block with this parent: some, when what the log ends with was orphaned. */
  async #wayBack(parentId: string): Promise<{ readonly blocks: readonly ReadBlock[]; readonly parentId: string }> {
    const blocks: ReadBlock[] = []
    let parent = parentId
    while (this.#log.indexOf(parent) === -1) {
      const block = await this.#chain.blockById(parent)
      if (block.logged.height <= this.#firstHeightOfWay()) throw brokenChain(block.logged)
      blocks.unshift(await readBlock(block))
      parent = block.parentId
    }
    return { blocks, parentId: parent }
  }

  /** Blocks before the first one of an empty log that a node denied: heights count as skipped only between a block and its child. */
  async #wayToStart(first: ReadBlock): Promise<{ readonly blocks: readonly ReadBlock[]; readonly parentId: string }> {
    const blocks: ReadBlock[] = []
    let { parentId, logged } = first
    while (logged.height > this.#log.next) {
      const block = await this.#chain.blockById(parentId)
      if (block.logged.height < this.#log.next) break
      blocks.unshift(await readBlock(block))
      ;({ parentId, logged } = block)
    }
    return { blocks, parentId }
  }
}

/**
 * Takes blocks until there are no more; where a node fails on the way, what was read before is appended and need not be read again. Throws
 * its fault where nothing was.
 */
async function keepingWhatWasRead(take: () => Promise<void>, flush: () => Promise<boolean>): Promise<void> {
  try {
    await take()
  } catch (error) {
    if (isNodeFault(error) && (await flush())) return
    throw error
  }
  await flush()
}

function isFull(batch: readonly ReadBlock[]): boolean {
  const events = batch.flatMap(({ events }) => HEAD_TOPICS.flatMap((topic) => events[topic]))
  return batch.length >= BLOCKS_PER_APPEND || events.reduce((sum, { data }) => sum + data.length, 0) >= APPEND_BYTES
}

async function readBlock({ logged, parentId, events }: HeadBlock): Promise<ReadBlock> {
  return { logged, parentId, events: await events() }
}

function brokenChain({ height, id }: LoggedBlock): AppError {
  return new AppError('node_inconsistent', `block ${id} at ${height} does not continue the chain before it`, {
    retryable: true,
  })
}
