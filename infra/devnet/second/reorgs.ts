import { ROLLBACK_BLOCKS_MAX } from '../engine.ts'

/** First head that is orphaned: early, so that a short history has one, and behind enough blocks that move tokens. */
export const FIRST_REORG_BLOCK = 40

/** Blocks from one orphaned head to the next: twenty minutes at three seconds a block. */
export const REORG_INTERVAL_BLOCKS = 400

/** How many blocks are orphaned, reorg by reorg. */
const DEPTHS = [3, 1, 2, 7, ROLLBACK_BLOCKS_MAX] as const

/**
 * Blocks that are orphaned after this one was the head: 0 for most. Then the next block's time brings another branch, which is
 * one block longer than what it replaces.
 */
export function reorgDepthAfter(headNumber: number): number {
  const since = headNumber - FIRST_REORG_BLOCK
  if (since < 0 || since % REORG_INTERVAL_BLOCKS !== 0) return 0
  return DEPTHS[(since / REORG_INTERVAL_BLOCKS) % DEPTHS.length] ?? 0
}
