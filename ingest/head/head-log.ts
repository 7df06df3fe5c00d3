import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { CursorData, LoggedBlock } from '../../schemas/events/cursor.ts'
import { type ChainLog, Cursor } from '../cursor.ts'
import { HEAD_TOPICS, type HeadBlock, type HeadChain, type HeadEvents, joinHeadEvents } from './head-chain.ts'

/** Name of the follower's cursor. */
export const HEAD_CURSOR = 'head'
/**
 * Blocks kept for finding a reorg: a cursor that names them all stays below Kafka's 1 MiB. Without finality for longer than this
 * (14 hours of mainnet) deeper reorgs stop the follower.
 */
export const RECENT_BLOCKS_MAX = 4_096

/** A block with its events. */
export interface ReadBlock extends Pick<HeadBlock, 'logged' | 'parentId'> {
  readonly events: HeadEvents
}

/**
 * What the log holds of the head: the newest final block and the blocks after it. Writes blocks and their reverts so that a
 * crash at any point leaves nothing behind that the next start does not know of: near the head, the cursor names the blocks
 * before they are appended, and a start begins by reverting the named ones.
 */
export class HeadLog {
  readonly #writer: EventWriter
  readonly #chain: HeadChain
  readonly #cursor: Cursor
  /** Oldest first. */
  #recent: readonly LoggedBlock[]
  #unsettled: readonly LoggedBlock[]
  #next: number
  /** Height of the newest block that the log says is final. */
  #finalHeight = -1

  private constructor(writer: EventWriter, chain: HeadChain, cursor: Cursor, data: Omit<CursorData, 'chain'>) {
    this.#writer = writer
    this.#chain = chain
    this.#cursor = cursor
    this.#recent = data.recent ?? []
    this.#unsettled = data.unsettled ?? []
    this.#next = data.next
  }

  /** Reads where the log stands. */
  static async open(
    log: ChainLog & { readonly cursor?: string },
    chain: HeadChain,
    signal: AbortSignal,
  ): Promise<HeadLog> {
    const cursor = new Cursor({ ...log, name: log.cursor ?? HEAD_CURSOR, identity: chain.identity })
    const data = (await cursor.read(signal)) ?? { next: await chain.startHeight() }
    return new HeadLog(log.writer, chain, cursor, data)
  }

  /** First height about which the log says nothing yet. */
  get next(): number {
    return this.#next
  }

  /** The newest block in the log; undefined while there is none. */
  get tip(): LoggedBlock | undefined {
    return this.#recent.at(-1)
  }

  /** The oldest block that is remembered: nothing before it can be reverted. */
  get oldest(): LoggedBlock | undefined {
    return this.#recent[0]
  }

  /** All blocks that are remembered, oldest first. */
  get blocks(): readonly LoggedBlock[] {
    return this.#recent
  }

  /** Position of a block in the remembered chain, -1 for others. */
  indexOf(id: string): number {
    return this.#recent.findLastIndex((block) => block.id === id)
  }

  /** Blocks that a chain which leaves ours after this block would replace. */
  after(id: string): readonly LoggedBlock[] {
    return this.#recent.slice(this.indexOf(id) + 1)
  }

  /** The newest remembered block up to a height. */
  newestUpTo(height: number): LoggedBlock | undefined {
    return this.#recent.findLast((block) => block.height <= height)
  }

  /** Forgets what can no longer be reverted; the newest final block stays, for the next one to be tied to. */
  prune(finalHeight: number): void {
    const newestFinal = this.#recent.findLastIndex((block) => block.height <= finalHeight)
    if (newestFinal > 0) this.#recent = this.#recent.slice(newestFinal)
    if (this.#recent.length > RECENT_BLOCKS_MAX) this.#recent = this.#recent.slice(-RECENT_BLOCKS_MAX)
  }

  /** Tells that a block is final, once for each; after a restart once more. */
  async finalize(block: LoggedBlock): Promise<void> {
    if (block.height <= this.#finalHeight) return
    await this.#append(this.#chain.finality(block))
    this.#finalHeight = block.height
  }

  /** Reverts what may have been left half-written by a crash, a failed append or the writer before this one. */
  async settle(): Promise<void> {
    const newest = this.#unsettled.at(-1)
    if (newest === undefined) return
    await this.#append(this.#chain.reverts(this.#unsettled.toReversed()))
    this.#unsettled = []
    await this.#writeCursor(this.tip ?? newest)
  }

  /**
   * Takes `reverted` back (the newest blocks of the log, oldest first) and appends `added`, which continue what is left.
   * `final` says that none of them can be reverted any more: then nothing has to be noted beforehand.
   */
  async replace(
    reverted: readonly LoggedBlock[],
    added: readonly [ReadBlock, ...ReadBlock[]],
    final: boolean,
  ): Promise<void> {
    const kept = this.#recent.slice(0, this.#recent.length - reverted.length)
    const addedBlocks = added.map(({ logged }) => logged)
    const newest = addedBlocks.at(-1) ?? added[0].logged
    if (!final || reverted.length > 0) {
      this.#unsettled = [...reverted, ...addedBlocks]
      this.#recent = kept
      if (reverted[0] !== undefined) this.#next = (kept.at(-1)?.height ?? reverted[0].height - 1) + 1
      await this.#writeCursor(newest)
    }
    // Newest first, so that at every moment the log tells of one chain.
    await this.#append(this.#chain.reverts(reverted.toReversed()))
    await this.#append(this.#eventsOf(added))
    this.#recent = [...kept, ...addedBlocks]
    this.#unsettled = []
    this.#next = newest.height + 1
    await this.#writeCursor(newest)
  }

  /** The blocks' events, each after those of the heights that it skips. */
  #eventsOf(added: readonly ReadBlock[]): HeadEvents {
    let next = this.#next
    const parts = added.flatMap(({ logged, events }) => {
      const skipped = this.#chain.skipped(next, logged.height)
      next = logged.height + 1
      return [skipped, events]
    })
    return joinHeadEvents(parts)
  }

  async #append(events: HeadEvents): Promise<void> {
    for (const topic of HEAD_TOPICS) {
      if (events[topic].length > 0) await this.#writer.append(topic, events[topic])
    }
  }

  #writeCursor(newest: LoggedBlock): Promise<void> {
    const state = { next: this.#next, recent: [...this.#recent], unsettled: [...this.#unsettled] }
    this.#cursor.rename(this.#chain.identity)
    return this.#cursor.write(state, this.#chain.timeOf(newest))
  }
}
