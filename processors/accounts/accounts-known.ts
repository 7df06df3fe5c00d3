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
  const held = await eventsHeld(eventLog)
  const never = new AbortController().signal
  for (const giveUpMs = performance.now() + waitMs; ; await pause(LOOK_EVERY_MS, never)) {
    // Asked in this order, what is appended in between makes them look further behind than they are, never nearer.
    const heldNow = await eventsHeld(eventLog)
    if (heldNow - (await eventLog.lag(TOPIC, GROUP)) >= held) return true
    if (performance.now() > giveUpMs) return false
  }
}

async function eventsHeld(eventLog: Pick<EventLog, 'ends'>): Promise<bigint> {
  return [...(await eventLog.ends(TOPIC)).values()].reduce((sum, end) => sum + end, 0n)
}
