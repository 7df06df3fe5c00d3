import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { pause } from '../../schemas/wait.ts'
import { filledFrom, tablesNotFilled } from '../loop/filled-from.ts'

const TOPIC = 'accounts'
const GROUP = 'accounts'
const LOOK_EVERY_MS = 100

export interface AccountsKnownOptions {
  readonly eventLog: Pick<EventLog, 'ends' | 'lag'>
  readonly warehouse: Warehouse
  /** How long it is waited for facts that are on their way. */
  readonly waitMs: number
}

/**
 * Whether every account fact that the log held at the call is in the tables. While accounts create validators some fact is always on its
 * way, so it waits for those of the call and not for a moment without any. False where tables were made anew, or where the facts
 * do not come in time.
 */
export async function areAccountsKnown({ eventLog, warehouse, waitMs }: AccountsKnownOptions): Promise<boolean> {
  const filled = await filledFrom(warehouse)
  if (filled === undefined || (await tablesNotFilled(warehouse, filled)).length > 0) return false
  const held = await eventLog.ends(TOPIC)
  const never = new AbortController().signal
  for (const giveUpMs = performance.now() + waitMs; ; await pause(LOOK_EVERY_MS, never)) {
    if ((await eventLog.lag(TOPIC, GROUP, held)) === 0n) return true
    if (performance.now() > giveUpMs) return false
  }
}
