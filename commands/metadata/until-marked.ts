import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { pause } from '../../schemas/wait.ts'

/** Between two looks, where nobody tells whether there is something to be seen. */
export const LOOK_MS = 1_000
/** After marks were written: of a head block's tokens who holds them is folded first, and what contracts call them is asked then. */
export const HEAD_FIRST_MS = 300
/** So long nobody looks again, whatever is written. */
export const LOOK_REST_MS = 500
/** Some of what a look finds no mark tells of. */
export const LOOK_ANYWAY_MS = 5_000
const HEARD_EVERY_MS = 50

/** What tells whether marks were written; to be asked before a look. */
export const marksWritten = (warehouse: WarehouseReader): number | undefined => warehouse.writesOf?.(['nft_marks'])

/**
 * Resolves when it is time to look for marks again, after a look before which `marksWritten` was `seen`: some time after others were
 * written, in which nobody needs the engine more than the fold of what came with them. At once when the signal aborts.
 */
export async function untilMarked(
  warehouse: WarehouseReader,
  seen: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (warehouse.writesOf === undefined) return await pause(LOOK_MS, signal)
  await pause(LOOK_REST_MS, signal)
  for (let waitedMs = 0; waitedMs < LOOK_ANYWAY_MS && !signal.aborted; waitedMs += HEARD_EVERY_MS) {
    const written = marksWritten(warehouse)
    if (written === undefined || written !== seen) break
    await pause(HEARD_EVERY_MS, signal)
  }
  await pause(HEAD_FIRST_MS, signal)
}
