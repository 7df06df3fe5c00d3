import { countChange } from '../processors/settlements/count-change.ts'
import { whySettlementsAreUnknown } from '../processors/verify/behind-log.ts'
import { AppError } from '../schemas/errors.ts'
import type { ChangedSettlements, SettlementChange } from '../schemas/settlement-change.ts'
import type { Ports } from './role.ts'

/** What was just said or read is processed within this, unless the log is being caught up with. */
const PROCESSED_WITHIN_MS = 10_000

/**
 * Counts what a change would do to what was settled, in tables that have all of the log; with `waits`, processors may be at work, and
 * are waited for. Throws AppError `usage` where the tables are not those of the log as it is now: they would say that nothing changes.
 */
export async function countInTables(
  ports: Ports,
  change: SettlementChange,
  { waits, signal }: { readonly waits: boolean; readonly signal: AbortSignal },
): Promise<readonly ChangedSettlements[]> {
  const why = await whySettlementsAreUnknown(ports, { waitMsMax: waits ? PROCESSED_WITHIN_MS : 0, signal })
  if (why !== undefined) throw new AppError('usage', why)
  return countChange(ports.warehouse, change)
}
