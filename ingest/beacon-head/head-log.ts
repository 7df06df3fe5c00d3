import type { BeaconBlock, BeaconChain } from '../../infra/ports/beacon-source.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { ExecutionBlock } from '../../infra/ports/execution-source.ts'
import { formatInstant, slotTimeSec } from '../../schemas/eth/time.ts'
import { BEACON_BLOCKS_KEY, beaconBlock, beaconBlockReverted, missedSlot } from '../../schemas/events/beacon-block.ts'
import { type EncodedEvent, encodeEvent, UNNAMED_CHAIN } from '../../schemas/events/codec.ts'
import type { CursorData, LoggedBlock } from '../../schemas/events/cursor.ts'
import { Cursor } from '../cursors.ts'
import { executionBlockEvents, executionRevertEvent } from '../execution/block-events.ts'

/** Before the merge, blocks have a payload of zeros: there is no execution block. */
const NO_EXECUTION_BLOCK = `0x${'00'.repeat(32)}`
/** Blocks kept for finding a reorg; without finality for longer than this (27 hours of mainnet) deeper ones end the follower. */
const CHAIN_BLOCKS_MAX = 8_192

/** A beacon block with its execution block, where it has one. */
export interface WholeBlock {
  readonly block: BeaconBlock
  readonly execution: ExecutionBlock | undefined
}

export function hasExecutionBlock(block: Pick<BeaconBlock, 'executionBlockHash'>): boolean {
  return block.executionBlockHash !== NO_EXECUTION_BLOCK
}

/** Events of slots without a block, from … to before `end`. */
export function missedSlotEvents({ clock }: BeaconChain, from: number, end: number): readonly EncodedEvent[] {
  return Array.from({ length: Math.max(0, end - from) }, (_, i) => {
    const slot = from + i
    const time = formatInstant(slotTimeSec(clock, slot))
    return encodeEvent(missedSlot, { id: `beacon.missed-slot:${slot}`, key: BEACON_BLOCKS_KEY, time, data: { slot } })
  })
}

/** Events of a block and of the missed slots before it. */
export function blockEvents(chain: BeaconChain, { block, execution }: WholeBlock, firstMissedSlot: number) {
  const beacon = [...missedSlotEvents(chain, firstMissedSlot, block.slot)]
  const { slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber } = block
  const time = formatInstant(slotTimeSec(chain.clock, slot))
  beacon.push(
    encodeEvent(beaconBlock, {
      id: `beacon.block:${root}`,
      key: BEACON_BLOCKS_KEY,
      time,
      data: { slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber },
    }),
  )
  if (execution === undefined) return { beacon, execution: [], logs: [] }
  const { blocks, logs } = executionBlockEvents(UNNAMED_CHAIN, execution, time)
  return { beacon, execution: blocks, logs }
}

/**
 * What the log holds of the head: the newest final block and the blocks after it. Writes blocks and their reverts so that a
 * crash at any point leaves nothing behind that the next start does not know of: near the head, the cursor names the blocks
 * before they are appended, and a start begins by reverting the named ones.
 */
export class HeadLog {
  readonly #eventLog: EventLog
  readonly #chain: BeaconChain
  readonly #cursor: Cursor
  /** Oldest first. */
  #blocks: readonly LoggedBlock[] = []
  #unsettled: readonly LoggedBlock[] = []
  #next = 0

  private constructor(eventLog: EventLog, chain: BeaconChain, key: string) {
    this.#eventLog = eventLog
    this.#chain = chain
    this.#cursor = new Cursor(eventLog, key, chain)
  }

  /** Reads where the log stands; `startSlot` counts for a log without a cursor. */
  static async open(options: {
    readonly eventLog: EventLog
    readonly chain: BeaconChain
    readonly key: string
    readonly startSlot: () => Promise<number>
    readonly signal: AbortSignal
  }): Promise<HeadLog> {
    const log = new HeadLog(options.eventLog, options.chain, options.key)
    const cursor = await log.#cursor.read(options.signal)
    log.#blocks = cursor?.chain ?? []
    log.#unsettled = cursor?.unsettled ?? []
    // The genesis block was not proposed by anybody and pays nobody: the chain of events begins after it.
    log.#next = cursor?.next ?? Math.max(1, await options.startSlot())
    return log
  }

  /** First slot about which the log says nothing yet. */
  get next(): number {
    return this.#next
  }

  /** The newest block in the log; undefined while there is none. */
  get tip(): LoggedBlock | undefined {
    return this.#blocks.at(-1)
  }

  /** The oldest block that is remembered: nothing before it can be reverted. */
  get oldest(): LoggedBlock | undefined {
    return this.#blocks[0]
  }

  /** Position of a block in the remembered chain, -1 for others. */
  indexOf(root: string): number {
    return this.#blocks.findLastIndex((block) => block.root === root)
  }

  /** Blocks that a chain which leaves ours after `root` would replace. */
  after(root: string): readonly LoggedBlock[] {
    return this.#blocks.slice(this.indexOf(root) + 1)
  }

  /** Forgets what can no longer be reverted; the newest final block stays, for the next one to be tied to. */
  prune(finalSlot: number): void {
    const newestFinal = this.#blocks.findLastIndex((block) => block.slot <= finalSlot)
    if (newestFinal > 0) this.#blocks = this.#blocks.slice(newestFinal)
    if (this.#blocks.length > CHAIN_BLOCKS_MAX) this.#blocks = this.#blocks.slice(-CHAIN_BLOCKS_MAX)
  }

  /** Reverts what may have been left half-written by a crash or a failed append. */
  async settle(): Promise<void> {
    if (this.#unsettled.length === 0) return
    await this.#appendReverts(this.#unsettled)
    this.#unsettled = []
    await this.#cursor.write(this.#data(), this.#next)
  }

  /**
   * Takes `reverted` back (the newest blocks of the log, oldest first) and appends `added`, which continue what is left.
   * `final` says that none of them can be reverted any more: then nothing has to be noted beforehand.
   */
  async replace(reverted: readonly LoggedBlock[], added: readonly WholeBlock[], final: boolean): Promise<void> {
    const kept = this.#blocks.slice(0, this.#blocks.length - reverted.length)
    const addedBlocks = added.map(({ block }) => toLogged(block))
    if (!final || reverted.length > 0) {
      this.#unsettled = [...reverted, ...addedBlocks]
      this.#blocks = kept
      if (reverted[0] !== undefined) this.#next = (kept.at(-1)?.slot ?? reverted[0].slot - 1) + 1
      await this.#cursor.write(this.#data(), this.#next)
    }
    if (reverted.length > 0) await this.#appendReverts(reverted)
    await this.#appendBlocks(added)
    this.#blocks = [...kept, ...addedBlocks]
    this.#unsettled = []
    this.#next = (addedBlocks.at(-1)?.slot ?? this.#next - 1) + 1
    await this.#cursor.write(this.#data(), this.#next)
  }

  #data(): CursorData {
    const { root } = this.tip ?? {}
    return {
      next: this.#next,
      ...(root === undefined ? {} : { headRoot: root }),
      chain: [...this.#blocks],
      unsettled: [...this.#unsettled],
    }
  }

  /** Newest first, so that at every moment the log tells of one chain. */
  async #appendReverts(blocks: readonly LoggedBlock[]): Promise<void> {
    const newestFirst = blocks.toReversed()
    const timeOf = (slot: number) => formatInstant(slotTimeSec(this.#chain.clock, slot))
    const execution = newestFirst
      .filter(hasExecutionBlock)
      .map((block) =>
        executionRevertEvent(
          UNNAMED_CHAIN,
          { number: block.executionBlockNumber, hash: block.executionBlockHash },
          timeOf(block.slot),
        ),
      )
    const beacon = newestFirst.map(({ slot, root }) =>
      encodeEvent(beaconBlockReverted, {
        id: `beacon.block-reverted:${root}`,
        key: BEACON_BLOCKS_KEY,
        time: timeOf(slot),
        data: { slot, root },
      }),
    )
    await this.#eventLog.append('execution.blocks', execution)
    await this.#eventLog.append('beacon.blocks', beacon)
  }

  async #appendBlocks(added: readonly WholeBlock[]): Promise<void> {
    const beacon: EncodedEvent[] = []
    const execution: EncodedEvent[] = []
    const logs: EncodedEvent[] = []
    let firstMissedSlot = this.#next
    for (const whole of added) {
      const events = blockEvents(this.#chain, whole, firstMissedSlot)
      beacon.push(...events.beacon)
      execution.push(...events.execution)
      logs.push(...events.logs)
      firstMissedSlot = whole.block.slot + 1
    }
    await this.#eventLog.append('execution.logs', logs)
    await this.#eventLog.append('execution.blocks', execution)
    await this.#eventLog.append('beacon.blocks', beacon)
  }
}

function toLogged({ slot, root, executionBlockHash, executionBlockNumber }: BeaconBlock): LoggedBlock {
  return { slot, root, executionBlockHash, executionBlockNumber }
}
