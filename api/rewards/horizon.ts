import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import {
  type ChainClock,
  type DayNumber,
  dayOfSlot,
  epochOf,
  firstOfMonth,
  firstSlotOfDay,
  formatDay,
  lastSlotOfEpoch,
} from '../../schemas/eth/time.ts'
import { IS_START_TOLD_SQL } from '../../schemas/tables/rewards.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import type { Standing } from '../http/standings.ts'

/**
 * How far a chain's figures reach: everything up to `epoch` is complete, and of that everything but the open days has been
 * closed into `daily_rewards`. One snapshot of it makes the statements of a request agree while days are being closed.
 */
export interface Horizon {
  readonly chain: string
  readonly epoch: number
  readonly clock: ChainClock
  /** Ascending; a day is closed or open, never both. */
  readonly closedDays: readonly ClosedDay[]
  /** Months (their first days) whose sums in `monthly_rewards` are those of all their closed days, with the version that these rows have. */
  readonly summedMonths: ReadonlyMap<DayNumber, string>
  /**
   * The day in which the chain began, where its epochs are all there and do not tell what it began with, as earlier logs do not: it is never
   * closed, and not called missing.
   */
  readonly daysWithoutStart: readonly DayNumber[]
  /** Days of complete epochs that are not closed, `YYYY-MM-DD`. */
  readonly openDays: readonly string[]
  /** Complete epochs with a slot in an open day, ascending; after a backfill they may have gaps. */
  readonly openEpochs: readonly number[]
  /** Differs when a rebuild has put other tables in place. */
  readonly exchanges: string
}

export interface ClosedDay {
  readonly day: DayNumber
  readonly lastEpoch: number
  /** Differs whenever a row of the day does, but for what a rebuild puts in place. */
  readonly version: string
}

interface HorizonRow {
  readonly closed: readonly (readonly [day: number, lastSlot: string, version: string])[]
  readonly months: readonly (readonly [month: number, version: string])[]
  readonly newest: number
  readonly epochs: string
  readonly open_days: readonly string[]
  readonly open_epochs: readonly number[]
  readonly exchanges: string
  readonly genesis: string
  readonly slot_sec: number
  readonly epoch_slots: number
}

// An epoch may begin in one day and end in the next, so both of its ends count.
const HORIZON = `
  WITH
    (
      SELECT arraySort(groupArray((toUInt16(day), last_slot, version))) FROM closed_days FINAL WHERE chain = {chain:String}
    ) AS closed_days_with_ends
  SELECT
    closed_days_with_ends AS closed,
    (SELECT groupArray((toUInt16(month), version)) FROM closed_months FINAL WHERE chain = {chain:String}) AS months,
    (SELECT toString((count(), sum(version))) FROM rebuild_exchanges) AS exchanges,
    max(epoch) AS newest,
    count() AS epochs,
    arraySort(groupUniqArrayIf(day, is_open)) AS open_days,
    arraySort(groupUniqArrayIf(epoch, is_open)) AS open_epochs,
    any(genesis_time_sec) AS genesis,
    any(seconds_per_slot) AS slot_sec,
    any(slots_per_epoch) AS epoch_slots
  FROM
  (
    SELECT
      epoch, first_slot, last_slot, genesis_time_sec, seconds_per_slot, slots_per_epoch,
      toDate(toDateTime(genesis_time_sec + arrayJoin([first_slot, last_slot]) * seconds_per_slot, 'UTC') + 28800) AS day,
      NOT has(closed_days_with_ends.1, toUInt16(day)) AS is_open
    FROM (SELECT epoch, first_slot, last_slot FROM epochs FINAL WHERE chain = {chain:String}) AS complete
    CROSS JOIN
    (
      SELECT genesis_time_sec, seconds_per_slot, slots_per_epoch FROM chains FINAL WHERE chain = {chain:String}
    ) AS clock
  )`

const horizonMemo = new StandingMemo<Horizon | undefined>(() => 1)

/** The horizon of the chain as its tables stand; undefined while no epoch of the chain is complete. */
export function horizonOf(standing: Standing): Promise<Horizon | undefined> {
  return horizonMemo.of(standing, '', () => selectHorizon(standing.warehouse, standing.chain))
}

/** The one reader of a chain's clock and newest epoch. */
async function selectHorizon(warehouse: WarehouseReader, chain: string): Promise<Horizon | undefined> {
  const [row] = await warehouse.query<HorizonRow>(HORIZON, { chain })
  if (row === undefined || row.epochs === '0') return undefined
  const horizon = toHorizon(chain, row)
  return { ...horizon, daysWithoutStart: await daysWithoutStart(warehouse, horizon) }
}

function toHorizon(chain: string, row: HorizonRow): Omit<Horizon, 'daysWithoutStart'> {
  return {
    chain,
    epoch: row.newest,
    clock: {
      genesisTimeSec: Number(row.genesis),
      secondsPerSlot: row.slot_sec,
      slotsPerEpoch: row.epoch_slots,
    },
    closedDays: row.closed.map(([day, lastSlot, version]) => ({
      day,
      version,
      lastEpoch: Math.floor(Number(lastSlot) / row.epoch_slots),
    })),
    summedMonths: summedMonthsOf(row),
    openDays: row.open_days,
    openEpochs: row.open_epochs,
    exchanges: row.exchanges,
  }
}

async function daysWithoutStart(
  warehouse: WarehouseReader,
  { chain, clock, closedDays, openEpochs }: Omit<Horizon, 'daysWithoutStart'>,
): Promise<readonly DayNumber[]> {
  const day = dayOfSlot(clock, 0)
  if (closedDays[0]?.day === day) return []
  const lastEpoch = epochOf(clock, firstSlotOfDay(clock, day + 1) - 1)
  // Ascending, and each once.
  if (openEpochs[lastEpoch] !== lastEpoch) return []
  const [row] = await warehouse.query<{ told: number }>(IS_START_TOLD_SQL, { chain, day: formatDay(day) })
  return row?.told === 1 ? [] : [day]
}

/** Sums that a day is missing in, or has changed since, do not count. */
function summedMonthsOf({ closed, months }: HorizonRow): ReadonlyMap<DayNumber, string> {
  const versions = new Map<DayNumber, bigint>()
  for (const [day, , version] of closed) {
    const month = firstOfMonth(day)
    versions.set(month, BigInt.asUintN(64, (versions.get(month) ?? 0n) + BigInt(version)))
  }
  return new Map(months.filter(([month, version]) => versions.get(month) === BigInt(version)))
}

/** The day that the chain's figures have come to: what an account has, it has on this day. */
export function dayOfHorizon({ clock, epoch }: Horizon): DayNumber {
  return dayOfSlot(clock, lastSlotOfEpoch(clock, epoch))
}
