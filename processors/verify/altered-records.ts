import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import {
  type SettlementCorrected,
  type SettlementsLocked,
  settlementCorrected,
  settlementsLocked,
} from '../../schemas/events/accounts.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { type SettlementsKept, settlementsKept } from '../../schemas/events/kept-settlements.ts'
import { storedSec } from '../../schemas/tables/stored-sec.ts'
import { readLogFacts, stillCounts } from '../loop/log-facts.ts'

/** A record of what was settled for good that the tables have otherwise than the log, or have alone. */
export interface AlteredRecord {
  /** Empty for a lock, which is of all chains. */
  readonly chain: string
  readonly account: string
  /** Which one, in words. */
  readonly what: string
}

export interface ComparedRecords {
  /** That locks keep, and corrections. */
  readonly compared: number
  readonly altered: readonly AlteredRecord[]
}

/** What records and locks follow from. Those of a newer release no group can process either: they are told as dead letters. */
const FACTS = [settlementsKept, settlementCorrected, settlementsLocked] as const

const KEPT_SQL = `
SELECT slot, block_number, validator_index, toString(pubkey) AS pubkey, toUnixTimestamp(time) AS time_sec,
  toString(fee_address) AS fee_address, revenue_class, revenue_wei, fee_rate, service_fee_wei, user_reward_wei, settled_version
FROM locked_settlements FINAL
WHERE chain = {chain:String} AND account = {account:String} AND lock_id = {lockId:String}
  AND slot BETWEEN {first:UInt64} AND {last:UInt64}`

const CORRECTION_SQL = `
SELECT toUnixTimestamp(time) AS time_sec, toString(pubkey) AS pubkey, validator_index, user_reward_wei, service_fee_wei, reason, is_of_block,
  slot, block_number
FROM settlement_corrections FINAL
WHERE chain = {chain:String} AND account = {account:String} AND number = {number:UInt32}`

const LOCK_SQL =
  'SELECT through FROM settlement_locks FINAL WHERE account = {account:String} AND lock_id = {lockId:String}'

// What the log has none of: locks and corrections are few, and are told to the statement.
const LONE_SQL = `
SELECT chain, account, what FROM (
  SELECT toString(chain) AS chain, toString(account) AS account, concat('slot ', toString(slot)) AS what FROM locked_settlements FINAL
  WHERE lock_id NOT IN {lockIds:Array(String)}
  UNION ALL
  SELECT toString(chain), toString(account), concat('correction ', toString(number)) FROM settlement_corrections FINAL
  WHERE NOT has({corrections:Array(String)}, concat(chain, ' ', account, ' ', toString(number)))
  UNION ALL
  SELECT '', toString(account), 'a lock' FROM settlement_locks FINAL WHERE lock_id NOT IN {lockIds:Array(String)}
)
ORDER BY chain, account, what
LIMIT {limit:UInt32}`

/** That are looked for; one is enough to have the tables made anew. */
const LONE_MAX = 1_000

/**
 * Compares the tables of what was settled for good, that is the records that locks keep, the locks and all corrections, with the events that say it. Nothing else
 * follows from other rows of the tables there: what is altered would be served, and taken for what was settled. Those of one chain, and locks, if `chain` is not empty.
 */
export async function compareRecords({
  eventLog,
  warehouse,
  chain: only = '',
  signal,
}: {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly chain?: string | undefined
  readonly signal: AbortSignal
}): Promise<ComparedRecords> {
  const isMeant = ({ chain }: { readonly chain: string }): boolean => [chain, ''].includes(only) || chain === ''
  const facts = await readLogFacts(eventLog, signal)
  if (facts === undefined) return { compared: 0, altered: [] }
  let compared = 0
  const { unnamedChain } = facts
  const altered: AlteredRecord[] = []
  const lockIds = new Set<string>()
  const corrections: string[] = []
  for await (const stored of eventLog.read({ topic: 'accounts', signal })) {
    if (!isFact(stored) || !stillCounts('accounts', stored, facts)) continue
    const { event } = stored
    if (event.type === settlementsKept.name) {
      const kept = decodeEvent(settlementsKept, event, unnamedChain)
      lockIds.add(kept.lockId)
      if (!isMeant(kept)) continue
      compared += kept.records.length
      altered.push(...(await alteredOfKept(warehouse, kept)))
    } else if (event.type === settlementCorrected.name) {
      const correction = decodeEvent(settlementCorrected, event, unnamedChain)
      corrections.push(`${correction.chain} ${correction.account} ${correction.number}`)
      if (!isMeant(correction)) continue
      compared++
      altered.push(...(await alteredCorrection(warehouse, correction)))
    } else {
      const lock = decodeEvent(settlementsLocked, event, unnamedChain)
      lockIds.add(lock.lockId)
      altered.push(...(await alteredLock(warehouse, lock)))
    }
  }
  const lone = await warehouse.query<AlteredRecord>(LONE_SQL, {
    lockIds: [...lockIds],
    corrections,
    limit: LONE_MAX,
  })
  return { compared, altered: [...altered, ...lone.filter(isMeant)] }
}

function isFact({ event }: StoredEvent): boolean {
  return FACTS.some(({ name, version }) => event.type === name && event.version <= version)
}

async function alteredOfKept(
  warehouse: Warehouse,
  { chain, account, lockId, records }: SettlementsKept,
): Promise<readonly AlteredRecord[]> {
  if (records.length === 0) return []
  const slots = records.map(({ slot }) => slot)
  const span = { first: Math.min(...slots), last: Math.max(...slots) }
  const rows = await warehouse.query<Readonly<Record<string, unknown>>>(KEPT_SQL, { chain, account, lockId, ...span })
  const told = new Map(records.map((record) => [String(record.slot), textOfKept(record)]))
  const stored = new Map(rows.map((row) => [String(row.slot), Object.values(row).join(' ')]))
  return [...new Set([...told.keys(), ...stored.keys()])]
    .filter((slot) => told.get(slot) !== stored.get(slot))
    .map((slot) => ({ chain, account, what: `slot ${slot}` }))
}

/** In the order of `KEPT_SQL`. */
function textOfKept(record: SettlementsKept['records'][number]): string {
  const { slot, blockNumber, validatorIndex, pubkey, timeSec, feeAddress, revenueClass, revenueWei, feeRate } = record
  const { serviceFeeWei, version } = record
  const userWei = BigInt(revenueWei) - BigInt(serviceFeeWei)
  const of = [slot, blockNumber, validatorIndex, pubkey, timeSec, feeAddress, revenueClass, revenueWei, feeRate]
  return [...of, serviceFeeWei, userWei, version].join(' ')
}

async function alteredCorrection(
  warehouse: Warehouse,
  correction: SettlementCorrected,
): Promise<readonly AlteredRecord[]> {
  const { chain, account, number, at, pubkey, validatorIndex, userRewardWei, serviceFeeWei, reason, block } = correction
  const [row] = await warehouse.query<Readonly<Record<string, unknown>>>(CORRECTION_SQL, { chain, account, number })
  const ofBlock = block === undefined ? [0, 0, 0] : [1, block.slot, block.number]
  const told = [
    storedSec(Date.parse(at) / 1_000),
    pubkey,
    validatorIndex,
    userRewardWei,
    serviceFeeWei,
    reason,
    ...ofBlock,
  ]
  const isSame = row !== undefined && Object.values(row).join(' ') === told.join(' ')
  return isSame ? [] : [{ chain, account, what: `correction ${number}` }]
}

/** A lock of an earlier release keeps nothing, and has no row. */
async function alteredLock(
  warehouse: Warehouse,
  { account, lockId, through }: SettlementsLocked,
): Promise<readonly AlteredRecord[]> {
  if (lockId === '') return []
  const [row] = await warehouse.query<{ readonly through: string }>(LOCK_SQL, { account, lockId })
  return row?.through === through ? [] : [{ chain: '', account, what: `the lock through ${through}` }]
}
