import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { type ChainClock, type DayNumber, firstSlotOfDay, parseDay } from '../../schemas/eth/time.ts'
import { IS_ANCHORED } from '../../schemas/tables/day-levels.ts'
import type { Days } from './kept-spans.ts'

/** What makes the consensus reward. */
const PARTS = [
  'source_gwei',
  'target_gwei',
  'head_gwei',
  'inactivity_gwei',
  'sync_gwei',
  'proposer_gwei',
  'slashing_penalty_gwei',
] as const
const COLUMNS = [...PARTS, 'ideal_attestations_gwei', 'effective_balance_gwei', 'active_validators'] as const

/** Sums over all validators of a chain and the epochs of some days, gwei; `active_validators` has each as often as it was active. */
export type NetworkSums = Readonly<Record<(typeof COLUMNS)[number] | 'epochs' | 'days', bigint>>

const NOTHING = Object.fromEntries([...COLUMNS, 'epochs', 'days'].map((name) => [name, 0n])) as NetworkSums

type SumsRow = Readonly<Record<(typeof COLUMNS)[number] | 'epochs', string>> & { readonly day: string }

const SUMS = `
  SELECT
    day, toString(count()) AS epochs, ${COLUMNS.map((name) => `toString(sum(toInt128(sums.${name}))) AS ${name}`).join(', ')}
  FROM network_epochs AS sums FINAL
  WHERE chain = {chain:String} AND epoch >= {fromEpoch:UInt32} AND epoch < {toEpoch:UInt32}
    AND (epoch, version) IN (
      SELECT epoch, version FROM epoch_proofs FINAL
      WHERE chain = {chain:String} AND epoch >= {fromEpoch:UInt32} AND epoch < {toEpoch:UInt32} AND ${IS_ANCHORED}
    )
  GROUP BY day`

/** Sums by UTC+8 day of the epochs that begin in it; of days alone whose epochs were all computed of states that the chain names. */
export async function networkSums(
  warehouse: WarehouseReader,
  { chain, clock, days }: { readonly chain: string; readonly clock: ChainClock; readonly days: Days },
): Promise<ReadonlyMap<DayNumber, NetworkSums>> {
  const params = { chain, fromEpoch: firstEpochOf(clock, days.from), toEpoch: firstEpochOf(clock, days.to) }
  const found = new Map<DayNumber, NetworkSums>()
  for (const { day: date, ...row } of await warehouse.query<SumsRow>(SUMS, params)) {
    const day = parseDay(date) ?? 0
    if (Number(row.epochs) !== firstEpochOf(clock, day + 1) - firstEpochOf(clock, day)) continue
    const sums = Object.fromEntries(Object.entries(row).map(([name, text]) => [name, BigInt(text)]))
    found.set(day, { ...NOTHING, ...sums, days: 1n })
  }
  return found
}

export function addNetworkSums(one: NetworkSums, other: NetworkSums): NetworkSums {
  return Object.fromEntries(
    Object.entries(one).map(([name, sum]) => [name, sum + other[name as keyof NetworkSums]]),
  ) as NetworkSums
}

/** What the consensus layer credited, gwei. */
export function consensusOf(sums: NetworkSums): bigint {
  return PARTS.reduce((gwei, name) => gwei + sums[name], 0n)
}

/** What of a sum falls to a validator that was active in all of the epochs, gwei, rounded toward zero. */
export function perValidator(sums: NetworkSums, gwei: bigint): bigint {
  return sums.active_validators === 0n ? 0n : (gwei * sums.epochs) / sums.active_validators
}

/** What the consensus layer credited such a validator, gwei: the sum of its parts as they are rounded, so that these add up to it. */
export function consensusPerValidator(sums: NetworkSums): bigint {
  return PARTS.reduce((gwei, name) => gwei + perValidator(sums, sums[name]), 0n)
}

/** The first epoch that begins in the day or after it. */
function firstEpochOf(clock: ChainClock, day: DayNumber): number {
  return Math.ceil(firstSlotOfDay(clock, day) / clock.slotsPerEpoch)
}
