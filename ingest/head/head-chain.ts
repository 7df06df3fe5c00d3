import type { EncodedEvent } from '../../schemas/events/codec.ts'
import type { LoggedBlock } from '../../schemas/events/cursor.ts'
import type { Latest } from '../latest.ts'

/** Topics that a head follower fills, in the order in which it appends to them. */
export const HEAD_TOPICS = ['execution.logs', 'execution.blocks', 'beacon.blocks'] as const
export type HeadEvents = Readonly<Record<(typeof HEAD_TOPICS)[number], readonly EncodedEvent[]>>

export const NO_HEAD_EVENTS: HeadEvents = { 'execution.logs': [], 'execution.blocks': [], 'beacon.blocks': [] }

/** The events of all, topic by topic, in order. */
export function joinHeadEvents(parts: readonly HeadEvents[]): HeadEvents {
  const of = (topic: keyof HeadEvents) => parts.flatMap((part) => part[topic])
  return {
    'execution.logs': of('execution.logs'),
    'execution.blocks': of('execution.blocks'),
    'beacon.blocks': of('beacon.blocks'),
  }
}

/** A block by its place: slot and root, or number and hash. */
export interface BlockRef {
  readonly height: number
  readonly id: string
}

/** A block up to which the chain is final. */
export interface FinalPoint {
  /** Every block up to this height is final. */
  readonly height: number
  /** The newest block up to that height; undefined where finality is a depth, which names none. */
  readonly id: string | undefined
}

export interface HeadBlock {
  readonly parentId: string
  /** What its revert has to name. */
  readonly logged: LoggedBlock
  /** Its events; asks the node for what else they need. */
  readonly events: () => Promise<HeadEvents>
}

/**
 * A chain as the head follower sees it: blocks at heights, tied to each other by their parents. All methods that ask a node
 * throw its AppErrors.
 */
export interface HeadChain {
  readonly name: string
  /** What the log's cursors are compared with. */
  readonly identity: string
  /** Behind this height nobody follows it. */
  readonly endHeight?: number
  /** Final blocks that are remembered nevertheless, in case a node has told what is final wrongly. */
  readonly finalKept?: number
  readonly head: Latest<BlockRef>
  /** Where a head's branch is followed to, if not to the head. */
  upTo?(head: BlockRef): Promise<BlockRef>
  /** Up to where the chain is final, as far as is known: nodes are asked for it now and then only. */
  final(): Promise<FinalPoint>
  /** Throws AppErrors of node faults when a block is not that of the final chain, as far as nodes can be asked for it. */
  confirmFinal(block: LoggedBlock): Promise<void>
  /** Throws AppError `node_inconsistent` where blocks of the log, oldest first, are not those that were told to be final before. */
  refuseOtherFork(blocks: readonly LoggedBlock[]): void
  /** Where a log without a cursor begins. */
  startHeight(): Promise<number>
  /** The canonical block at a height; undefined where there is none. Throws AppError `node_lagging` above the head. */
  blockAt(height: number): Promise<HeadBlock | undefined>
  blockById(id: string): Promise<HeadBlock>
  /** Events of the heights from … to before `end`, at which there is no block. */
  skipped(from: number, end: number): HeadEvents
  /** Events that take blocks back, given newest first. */
  reverts(blocks: readonly LoggedBlock[]): HeadEvents
  /** Events that tell of a block that has become final, with all before it. */
  finality(block: LoggedBlock): HeadEvents
  /** Chain time of a block, ISO 8601. */
  timeOf(block: LoggedBlock): string
  /** What was announced led nowhere: head and finality are asked for. */
  doubt(): void
  /** Takes up what the node announces, and calls `onNews` then. Resolves when the signal aborts; at once where nodes announce nothing. */
  watch(onNews: () => void, signal: AbortSignal): Promise<void>
}
