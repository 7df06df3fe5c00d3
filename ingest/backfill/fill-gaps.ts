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
 * Fills one gap after the other, also behind those that a backfill refuses with AppError `usage`, and resolves with these. Throws whatever else
 * `fill` throws, and once the signal aborts that too.
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
  for (const gap of gaps) {
    try {
      await fill(gap, waitMs)
      waitMs = goneAfterMs
    } catch (error) {
      if (signal.aborted || !(error instanceof AppError && error.code === 'usage')) throw error
      const one = { ...gap, reason: reasonOf(gap, error), message: error.message }
      if (one.reason !== 'unsupported') waitMs = 0
      refused.push(one)
      onRefused?.(one)
    }
  }
  return refused
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
