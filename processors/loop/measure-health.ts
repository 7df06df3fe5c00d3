import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { epochOf, slotAt } from '../../schemas/eth/time.ts'
import { projectors } from '../projections.ts'
import { chainClock } from '../rewards/days.ts'

export interface MeasuredHealth {
  readonly headSlot: number | undefined
  readonly lastFinalizedEpoch: number | undefined
  readonly lag: Readonly<Record<string, number>>
  readonly checks: Readonly<Record<'has_data' | 'follows_head' | 'follows_finality', boolean>>
}

/** Blocks come every 12 s, so the head may be this old before something is wrong: about two minutes. */
const HEAD_LAG_SLOTS_MAX = 10
/** Epochs are final after two, ingested when the next checkpoint is, and processed within seconds. */
const FINALITY_LAG_EPOCHS_MAX = 5

/** Where the projections stand, against the log and against the chain's clock. `nowSec` is Unix seconds. */
export async function measureHealth(eventLog: EventLog, warehouse: Warehouse, nowSec: number): Promise<MeasuredHealth> {
  const groups = projectors(warehouse)
  const lags = await Promise.all(groups.map(({ topic, group }) => eventLog.lag(topic, group)))
  const [row] = await warehouse.query<{ epochs: string; last_epoch: number; blocks: string; head_slot: string }>(`
    SELECT
      (SELECT count() FROM epochs) AS epochs, (SELECT max(epoch) FROM epochs) AS last_epoch,
      (SELECT count() FROM beacon_blocks) AS blocks, (SELECT max(slot) FROM beacon_blocks) AS head_slot`)
  const clock = await chainClock(warehouse)
  const headSlot = row === undefined || row.blocks === '0' ? undefined : Number(row.head_slot)
  const lastFinalizedEpoch = row === undefined || row.epochs === '0' ? undefined : row.last_epoch
  const wallSlot = clock === undefined ? undefined : slotAt(clock, nowSec)
  return {
    headSlot,
    lastFinalizedEpoch,
    lag: Object.fromEntries(groups.map(({ group }, i) => [group, Number(lags[i])])),
    checks: {
      has_data: lastFinalizedEpoch !== undefined,
      follows_head: wallSlot !== undefined && headSlot !== undefined && wallSlot - headSlot <= HEAD_LAG_SLOTS_MAX,
      follows_finality:
        clock !== undefined &&
        wallSlot !== undefined &&
        lastFinalizedEpoch !== undefined &&
        epochOf(clock, wallSlot) - lastFinalizedEpoch <= FINALITY_LAG_EPOCHS_MAX,
    },
  }
}
