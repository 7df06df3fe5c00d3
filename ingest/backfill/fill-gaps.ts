import { AppError, isNodeFault } from '../../schemas/errors.ts'
import { GONE_AFTER_MS } from './backfill.ts'
import type { EpochRange } from './epoch-range.ts'
import type { EpochGap } from './gaps.ts'

export type RefusalReason =
  | 'gone' // no node can tell them any more
  | 'computed' // the log has them as computed of states, which no node gives
  | 'unsupported' // whatever nodes give: not final, or by rules that are not known here

export interface RefusedGap extends EpochGap {
  readonly reason: RefusalReason
  /** For people. */
  readonly message: string
}

/** Backfills a gap, with the option `planGoneAfterMs`. */
export type FillGap = (gap: EpochGap, planGoneAfterMs: number) => Promise<unknown>

interface FillGapsOptions {
  readonly gaps: readonly EpochGap[]
  readonly fill: FillGap
  readonly onRefused?: (refused: RefusedGap) => void
  readonly goneAfterMs?: number | undefined
  readonly signal: AbortSignal
}

/**
 * Fills one gap after the other, also behind those that a backfill refuses with AppError `usage`, and resolves with these. Of a gap whose
 * older part is gone from the nodes the newer one is filled. Throws whatever else `fill` throws, and once the signal aborts that too.
 */
export async function fillGaps({
  gaps,
  fill,
  onRefused,
  goneAfterMs = GONE_AFTER_MS,
  signal,
}: FillGapsOptions): Promise<readonly RefusedGap[]> {
  const refused: RefusedGap[] = []
  // Nodes that were waited for in vain are not for each further gap: a log may have hundreds of what they no longer have.
  let waitMs = goneAfterMs
  const tryOne = async (gap: EpochGap): Promise<RefusedGap | undefined> => {
    try {
      await fill(gap, waitMs)
      waitMs = goneAfterMs
      return undefined
    } catch (error) {
      if (signal.aborted || !(error instanceof AppError && error.code === 'usage')) throw error
      const one = { ...gap, reason: reasonOf(gap, error), message: error.message }
      if (one.reason !== 'unsupported') waitMs = 0
      return one
    }
  }
  for (const gap of gaps) {
    const whole = await tryOne(gap)
    const one = whole === undefined || whole.reason === 'unsupported' ? whole : await fillNewer(whole, tryOne)
    if (one === undefined) continue
    refused.push(one)
    onRefused?.(one)
  }
  return refused
}

/**
 * Fills what nodes still have of a gap that they refuse as a whole: they drop the oldest first, so where the part from an epoch on is refused,
 * that epoch and all before it are gone. Each try halves what may be there. Returns what is left.
 */
async function fillNewer(
  gap: RefusedGap,
  tryOne: (gap: EpochGap) => Promise<RefusedGap | undefined>,
): Promise<RefusedGap> {
  const { reason: _, message: __, ...what } = gap
  let last = gap
  let [low, high] = [gap.fromEpoch + 1, gap.toEpoch]
  while (low <= high) {
    const middle = Math.ceil((low + high) / 2)
    const refused = await tryOne({ ...what, fromEpoch: middle, toEpoch: high })
    if (refused === undefined) high = middle - 1
    else {
      last = refused
      low = middle + 1
    }
  }
  return { ...last, fromEpoch: gap.fromEpoch, toEpoch: high }
}

/** What no node has is told with the node's fault as the cause. */
function reasonOf({ isComputed }: EpochGap, { cause }: AppError): RefusalReason {
  if (!isNodeFault(cause)) return 'unsupported'
  return isComputed ? 'computed' : 'gone'
}

/** Of epochs that are lacking, how many lie in gaps that were refused for each reason, and how many in none. */
export function countByReason(
  lacking: readonly EpochRange[],
  refused: readonly RefusedGap[],
): ReadonlyMap<RefusalReason | 'unrefused', number> {
  const counts = new Map<RefusalReason | 'unrefused', number>()
  const add = (reason: RefusalReason | 'unrefused', epochs: number): void => {
    if (epochs > 0) counts.set(reason, (counts.get(reason) ?? 0) + epochs)
  }
  for (const range of lacking) {
    let unrefused = range.toEpoch - range.fromEpoch + 1
    for (const gap of refused) {
      const shared = Math.min(range.toEpoch, gap.toEpoch) - Math.max(range.fromEpoch, gap.fromEpoch) + 1
      add(gap.reason, shared)
      unrefused -= Math.max(0, shared)
    }
    add('unrefused', unrefused)
  }
  return counts
}
