import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { ChainClock } from '../../schemas/eth/time.ts'

/**
 * How far the figures reach: everything up to `epoch` is complete, and of that everything but `openDays` has been closed into
 * `daily_rewards`. One snapshot of it makes the statements of a request agree while days are being closed.
 */
export interface Horizon {
  readonly epoch: number
  readonly clock: ChainClock
  /** Days of complete epochs that are not closed, `YYYY-MM-DD`. */
  readonly openDays: readonly string[]
  /** Complete epochs with a slot in an open day. */
  readonly openEpochs: readonly number[]
  /** Slot range around the open epochs; equal when there are none. */
  readonly openSlots: { readonly from: number; readonly to: number }
}

interface HorizonRow {
  readonly newest: number
  readonly epochs: string
  readonly open_days: readonly string[]
  readonly open_epochs: readonly number[]
  readonly open_from: string
  readonly open_to: string
  readonly genesis: string
  readonly slot_sec: number
  readonly epoch_slots: number
}

// An epoch may begin in one day and end in the next, so both of its ends count.
const HORIZON = `
  SELECT
    max(epoch) AS newest,
    count() AS epochs,
    arraySort(groupUniqArrayIf(day, is_open)) AS open_days,
    arraySort(groupUniqArrayIf(epoch, is_open)) AS open_epochs,
    minIf(first_slot, is_open) AS open_from,
    maxIf(last_slot + 1, is_open) AS open_to,
    any(genesis_time_sec) AS genesis,
    any(seconds_per_slot) AS slot_sec,
    any(slots_per_epoch) AS epoch_slots
  FROM
  (
    SELECT
      epoch, first_slot, last_slot, genesis_time_sec, seconds_per_slot, slots_per_epoch,
      toDate(toDateTime(genesis_time_sec + arrayJoin([first_slot, last_slot]) * seconds_per_slot, 'UTC') + 28800) AS day,
      day NOT IN (SELECT day FROM closed_days) AS is_open
    FROM epochs FINAL
    CROSS JOIN (SELECT * FROM chain FINAL LIMIT 1) AS clock
  )`

/** Undefined while no epoch is complete. */
export async function selectHorizon(warehouse: Warehouse): Promise<Horizon | undefined> {
  const [row] = await warehouse.query<HorizonRow>(HORIZON)
  if (row === undefined || row.epochs === '0') return undefined
  return {
    epoch: row.newest,
    clock: {
      genesisTimeSec: Number(row.genesis),
      secondsPerSlot: row.slot_sec,
      slotsPerEpoch: row.epoch_slots,
    },
    openDays: row.open_days,
    openEpochs: row.open_epochs,
    openSlots: { from: Number(row.open_from), to: Number(row.open_to) },
  }
}
