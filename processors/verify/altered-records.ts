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

// Whatever of them the log has is compared by itself, so that these show what the tables have beside it.
const KEPT_COUNTS_SQL = `
SELECT toString(chain) AS chain, toString(account) AS account, lock_id, count() AS records
FROM locked_settlements FINAL GROUP BY chain, account, lock_id ORDER BY chain, account, lock_id`

const KEPT_SLOTS_SQL = `
SELECT slot FROM locked_settlements FINAL
WHERE chain = {chain:String} AND account = {account:String} AND lock_id = {lockId:String} ORDER BY slot LIMIT {limit:UInt32}`

const CORRECTIONS_SQL = `
SELECT toString(chain) AS chain, toString(account) AS account, number, toUnixTimestamp(time) AS time_sec, toString(pubkey) AS pubkey,
  validator_index, user_reward_wei, service_fee_wei, reason, is_of_block, slot, block_number
FROM settlement_corrections FINAL
WHERE (chain, account, number) > ({afterChain:String}, {afterAccount:String}, {afterNumber:UInt32})
ORDER BY chain, account, number LIMIT {limit:UInt32}`

const LOCKS_SQL =
  'SELECT toString(account) AS account, lock_id, toString(through) AS through FROM settlement_locks FINAL ORDER BY account, lock_id'

/** Corrections that are read at once, each of up to some hundred bytes. */
const CORRECTIONS_AT_ONCE = 10_000
/** That are named of what the tables alone have under one lock; one is enough to have them made anew. */
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
  const { unnamedChain } = facts
  let compared = 0
  const altered: AlteredRecord[] = []
  const keptSlots = new Map<string, Set<number>>()
  const corrections = new Map<string, string>()
  const locks = new Map<string, string>()
  for await (const stored of eventLog.read({ topic: 'accounts', signal })) {
    if (!isFact(stored) || !stillCounts('accounts', stored, facts)) continue
    const { event } = stored
    if (event.type === settlementsKept.name) {
      const kept = decodeEvent(settlementsKept, event, unnamedChain)
      if (!isMeant(kept)) continue
      compared += kept.records.length
      const slots = keptSlots.get(keyOfKept(kept)) ?? new Set()
      for (const { slot } of kept.records) slots.add(slot)
      keptSlots.set(keyOfKept(kept), slots)
      altered.push(...(await alteredOfKept(warehouse, kept)))
    } else if (event.type === settlementCorrected.name) {
      const correction = decodeEvent(settlementCorrected, event, unnamedChain)
      if (!isMeant(correction)) continue
      compared++
      corrections.set(keyOfCorrection(correction), textOfCorrection(correction))
    } else {
      const lock = decodeEvent(settlementsLocked, event, unnamedChain)
      // A lock of an earlier release keeps nothing, and has no row.
      if (lock.lockId !== '') locks.set(keyOfLock(lock), lock.through)
    }
  }
  for (const others of [
    await loneOfKept(warehouse, { keptSlots, isMeant }),
    await alteredCorrections(warehouse, { corrections, isMeant }),
    await alteredLocks(warehouse, locks),
  ])
    for (const one of others) altered.push(one)
  return { compared, altered }
}

function isFact({ event }: StoredEvent): boolean {
  return FACTS.some(({ name, version }) => event.type === name && event.version <= version)
}

type IsMeant = (of: { readonly chain: string }) => boolean

const keyOfKept = ({ chain, account, lockId }: Pick<SettlementsKept, 'chain' | 'account' | 'lockId'>): string =>
  [chain, account, lockId].join(' ')
const keyOfCorrection = ({ chain, account, number }: Pick<SettlementCorrected, 'chain' | 'account' | 'number'>) =>
  [chain, account, number].join(' ')
const keyOfLock = ({ account, lockId }: Pick<SettlementsLocked, 'account' | 'lockId'>): string =>
  [account, lockId].join(' ')

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
  return [...told.keys()]
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

/** Records that the tables have more than the log's, under a lock of the log or one that it does not have. */
async function loneOfKept(
  warehouse: Warehouse,
  { keptSlots, isMeant }: { readonly keptSlots: ReadonlyMap<string, ReadonlySet<number>>; readonly isMeant: IsMeant },
): Promise<readonly AlteredRecord[]> {
  const rows = await warehouse.query<{ chain: string; account: string; lock_id: string; records: string }>(
    KEPT_COUNTS_SQL,
  )
  const lone: AlteredRecord[] = []
  for (const { chain, account, lock_id: lockId, records } of rows.filter(isMeant)) {
    const told = keptSlots.get(keyOfKept({ chain, account, lockId })) ?? new Set()
    if (Number(records) <= told.size) continue
    const limit = told.size + LONE_MAX
    const slots = await warehouse.query<{ slot: string }>(KEPT_SLOTS_SQL, { chain, account, lockId, limit })
    for (const { slot } of slots) if (!told.has(Number(slot))) lone.push({ chain, account, what: `slot ${slot}` })
  }
  return lone
}

/** In the order of `CORRECTIONS_SQL`, without what names the correction. */
function textOfCorrection(correction: SettlementCorrected): string {
  const { at, pubkey, validatorIndex, userRewardWei, serviceFeeWei, reason, block } = correction
  const ofBlock = block === undefined ? [0, 0, 0] : [1, block.slot, block.number]
  const of = [storedSec(Date.parse(at) / 1_000), pubkey, validatorIndex, userRewardWei, serviceFeeWei, reason]
  return [...of, ...ofBlock].join(' ')
}

interface CorrectionRow {
  readonly chain: string
  readonly account: string
  readonly number: number
}

/** Corrections of the log that the tables have otherwise or not at all, and those that they alone have. */
async function alteredCorrections(
  warehouse: Warehouse,
  { corrections, isMeant }: { readonly corrections: ReadonlyMap<string, string>; readonly isMeant: IsMeant },
): Promise<readonly AlteredRecord[]> {
  const altered: AlteredRecord[] = []
  const found = new Set<string>()
  let after: CorrectionRow | undefined = { chain: '', account: '', number: 0 }
  while (after !== undefined) {
    const rows: readonly CorrectionRow[] = await warehouse.query<CorrectionRow>(CORRECTIONS_SQL, {
      ...{ afterChain: after.chain, afterAccount: after.account, afterNumber: after.number },
      limit: CORRECTIONS_AT_ONCE,
    })
    for (const { chain, account, number, ...row } of rows.filter(isMeant)) {
      const key = keyOfCorrection({ chain, account, number })
      found.add(key)
      if (corrections.get(key) !== Object.values(row).join(' '))
        altered.push({ chain, account, what: `correction ${number}` })
    }
    after = rows.length < CORRECTIONS_AT_ONCE ? undefined : rows.at(-1)
  }
  for (const key of corrections.keys()) {
    const [chain = '', account = '', number] = key.split(' ')
    if (!found.has(key)) altered.push({ chain, account, what: `correction ${number}` })
  }
  return altered
}

/** Locks of the log that the tables have otherwise or not at all, and those that they alone have: of all chains. */
async function alteredLocks(
  warehouse: Warehouse,
  locks: ReadonlyMap<string, string>,
): Promise<readonly AlteredRecord[]> {
  const rows = await warehouse.query<{ account: string; lock_id: string; through: string }>(LOCKS_SQL)
  const stored = new Map(rows.map((row) => [keyOfLock({ account: row.account, lockId: row.lock_id }), row.through]))
  return [...new Set([...locks.keys(), ...stored.keys()])]
    .filter((key) => locks.get(key) !== stored.get(key))
    .map((key) => {
      const [account = ''] = key.split(' ')
      const through = locks.get(key)
      return { chain: '', account, what: through === undefined ? 'a lock' : `the lock through ${through}` }
    })
}
