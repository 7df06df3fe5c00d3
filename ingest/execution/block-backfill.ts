import type { ExecutionBlock, ExecutionSource } from '../../infra/ports/execution-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { Cursor } from '../cursor.ts'
import { type BlockRef, type HeadChain, NO_HEAD_EVENTS } from '../head/head-chain.ts'
import { type FollowHeadOptions, followHead } from '../head/head-follower.ts'
import { Latest } from '../latest.ts'
import { ExecutionHeadChain, executionIdentity, FINALITY_DEPTH_BLOCKS } from './execution-head.ts'

/** How long nodes may say that they do not have a final block, or its receipts, before that is believed. */
const GONE_AFTER_MS = 30_000

/** The range's last block is final: it is asked for again in case it was told wrongly. */
const END_FRESH_MS = 60_000

/** Numbers of blocks, both inclusive. */
export interface BlockRange {
  readonly fromBlock: number
  readonly toBlock: number
}

const BLOCK = /^block:(\d{1,15})$/

/** The range of `block:N` and `block:M`; undefined where neither end names a block. Throws AppError `usage`. */
export function parseBlockRange({ from, to }: { readonly from: string; readonly to: string }): BlockRange | undefined {
  const [first, last] = [BLOCK.exec(from), BLOCK.exec(to)]
  if (first === null && last === null) return undefined
  if (first === null || last === null) {
    throw new AppError(
      'usage',
      `--from ${from} and --to ${to} have to be of one kind; e.g. --from block:1 --to block:9000.`,
    )
  }
  const [fromBlock, toBlock] = [Number(first[1]), Number(last[1])]
  if (fromBlock <= toBlock) return { fromBlock, toBlock }
  throw new AppError('usage', `--from ${from} lies after --to ${to}: exchange them.`)
}

export interface BlockBackfillOptions extends Omit<FollowHeadOptions, 'cursor' | 'onProgress'> {
  readonly execution: ExecutionSource
  /** What names a chain with a beacon chain; others are asked for it. */
  readonly identity?: string
  /** Blocks on top of a block that make it final where the node does not tell of finality. */
  readonly finalityDepth?: number | undefined
  /** Blocks of the range that are in the log. */
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void
  readonly goneAfterMs?: number
}

/** What a backfill has done. */
export interface BlocksFilled {
  readonly ingested: number
  /** Blocks that the same backfill had brought into the log before. */
  readonly skipped: number
}

/**
 * Brings final blocks of a range into the log, as the head would have written them: reads them side by side, appends them in order,
 * each tied to the one before; what turns out to be of another branch is taken back. One that was interrupted goes on where it was.
 * Resolves when the range is in the log, or with undefined when the signal aborts. Throws AppError `usage` for a range that is not
 * final, or that no node has any more, `config` when the log tells of another chain of this name, `lease_lost` when another process
 * writes.
 */
export async function backfillBlocks(
  options: BlockBackfillOptions,
  range: BlockRange,
  signal: AbortSignal,
): Promise<BlocksFilled | undefined> {
  const { chain, log, outageWaitMs } = options
  const retry = { log, signal, what: `the backfill of ${chain}`, firstMs: outageWaitMs }
  const place = { fromBlock: Math.max(1, range.fromBlock), toBlock: range.toBlock } // the genesis block is nobody's
  const cursor = `backfill-blocks:${place.fromBlock}:${place.toBlock}`
  const opened = await retryWithBackoff(retry, () => openRange(options, place, { cursor, signal }))
  if (opened === undefined) return undefined
  const { next, open } = opened
  const total = place.toBlock - place.fromBlock + 1
  const skipped = Math.min(total, next - place.fromBlock)
  const progress = (height: number) => options.onProgress?.({ done: height - place.fromBlock + 1, total })
  progress(next - 1)
  if (skipped === total) return { ingested: 0, skipped }
  await followHead(open, { ...options, cursor, onProgress: ({ height }) => progress(height) }, signal)
  return signal.aborted ? undefined : { ingested: total - skipped, skipped }
}

async function openRange(
  options: BlockBackfillOptions,
  { fromBlock, toBlock }: BlockRange,
  { cursor: name, signal }: { readonly cursor: string; readonly signal: AbortSignal },
) {
  const execution = refusingWhatIsGone(options.execution, options.goneAfterMs ?? GONE_AFTER_MS)
  const identity = options.identity ?? (await executionIdentity(options.execution))
  const final = await finalNumber(options)
  if (toBlock > final) {
    throw new AppError(
      'usage',
      `block ${toBlock} is not final yet: the last final one is ${final} (--to block:${final}).`,
    )
  }
  const next = (await new Cursor({ ...options, name, identity }).read(signal))?.next ?? fromBlock
  const { onProgress: _, ...shared } = options
  const open = async (): Promise<HeadChain> =>
    new BlockRangeChain({ ...shared, execution, startBlock: fromBlock }, identity, toBlock)
  return { next, open }
}

async function finalNumber({
  execution,
  finalityDepth = FINALITY_DEPTH_BLOCKS,
}: BlockBackfillOptions): Promise<number> {
  const tagged = await execution.finalized()
  return tagged?.number ?? (await execution.head()).number - finalityDepth
}

type ChainOptions = ConstructorParameters<typeof ExecutionHeadChain>[0]

/** A chain whose head is a final block. */
class BlockRangeChain extends ExecutionHeadChain {
  readonly endHeight: number
  readonly finalKept = FINALITY_DEPTH_BLOCKS
  override readonly head: HeadChain['head']

  constructor(options: ChainOptions, identity: string, toBlock: number) {
    super(options, identity)
    this.endHeight = toBlock
    this.head = new Latest<BlockRef>({
      ask: async () => (await this.blockAt(toBlock)).logged,
      heightOf: ({ height }) => height,
      freshUntilMs: ({ sinceMs }) => sinceMs + END_FRESH_MS,
      now: Date.now,
    })
  }

  override async final() {
    return { height: this.endHeight, id: undefined }
  }

  /** How far the chain is final, its head has to tell. */
  override finality() {
    return NO_HEAD_EVENTS
  }
}

/** What is final is not still to come: nodes that keep saying that they do not have it no longer have it. */
function refusingWhatIsGone(execution: ExecutionSource, goneAfterMs: number): ExecutionSource {
  const missing = new Map<number, number>()
  const blockByNumber = async (number: number): Promise<ExecutionBlock | undefined> => {
    const note = (reason: string): void => {
      const sinceMs = missing.get(number) ?? performance.now()
      missing.set(number, sinceMs)
      if (performance.now() - sinceMs < goneAfterMs) return
      throw new AppError(
        'usage',
        `Block ${number}, or what it did, is gone: ${reason}. A backfill needs a node that keeps blocks and receipts; with one the same command goes on behind those that are in the log.`,
      )
    }
    try {
      const block = await execution.blockByNumber(number)
      if (block === undefined) note('no node has it')
      else missing.delete(number)
      return block
    } catch (error) {
      if (error instanceof AppError && error.code === 'node_lagging') note(error.message)
      throw error
    }
  }
  return { ...execution, blockByNumber }
}
