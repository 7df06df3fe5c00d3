import type { Warehouse } from '../../infra/ports/warehouse.ts'
import {
  type ChainClock,
  type DayNumber,
  dayOfSlot,
  epochOf,
  firstSlotOfDay,
  formatDay,
} from '../../schemas/eth/time.ts'
import { formatEthFromWei, type Wei } from '../../schemas/eth/units.ts'
import { REASON_MAX } from '../../schemas/events/accounts.ts'
import { dueSettlementsSql } from '../../schemas/tables/settlements.ts'
import { chainClock, missingOfDay } from '../rewards/days.ts'
import { knownRate, splitRevenue } from './settlement.ts'

/** Suspects that are looked at together; a look ends behind those with which it has found as many differences. The next one finds the others. */
export const RECORDS_PER_LOOK = 1_000

/** What a block of a locked day proves now, and what locked records and corrections of it say, differ by this. */
export interface LockedDifference {
  readonly chain: string
  readonly account: string
  readonly slot: number
  readonly blockNumber: number
  readonly validatorIndex: number
  readonly pubkey: string
  /** Signed: what is lacking, or below 0 too much. */
  readonly userRewardWei: Wei
  readonly serviceFeeWei: Wei
  readonly reason: string
}

/** Of a block: what was said of it by its locked record and all corrections. */
interface SaidRow {
  readonly chain: string
  readonly account: string
  readonly slot: string
  readonly block_number: string
  readonly validator_index: number
  readonly pubkey: string
  readonly user_wei: string
  readonly fee_wei: string
}

interface DueRow {
  readonly account: string
  readonly slot: string
  readonly block_number: string
  readonly validator_index: number
  readonly pubkey: string
  readonly revenue_class: string
  readonly revenue_wei: string
  readonly fee_rate: string
}

// What is said is compared with what was settled by the way, which is cheap; what then looks different is looked at closely.
const SUSPECTS_SQL = `
WITH locks AS (SELECT toString(account) AS account, max(through) AS through FROM settlement_locks FINAL GROUP BY account)
SELECT
  if(s.account = '', d.chain, s.chain) AS chain, if(s.account = '', d.account, s.account) AS account, if(s.account = '', d.slot, s.slot) AS slot,
  if(s.account = '', d.block_number, s.block_number) AS block_number,
  if(s.account = '', d.validator_index, s.validator_index) AS validator_index,
  if(s.account = '', d.pubkey, s.pubkey) AS pubkey, s.user_wei AS user_wei, s.fee_wei AS fee_wei
FROM (
  SELECT chain, account, slot, any(block_number) AS block_number, any(validator_index) AS validator_index, any(pubkey) AS pubkey,
    sum(user) AS user_wei, sum(fee) AS fee_wei
  FROM (
    SELECT toString(chain) AS chain, toString(account) AS account, slot, block_number, validator_index, toString(pubkey) AS pubkey,
      toInt256(user_reward_wei) AS user, toInt256(service_fee_wei) AS fee
    FROM locked_settlements FINAL
    WHERE (account, lock_id) IN (SELECT account, lock_id FROM settlement_locks)
    UNION ALL
    SELECT toString(chain), toString(account), slot, block_number, validator_index, toString(pubkey), user_reward_wei, service_fee_wei
    FROM settlement_corrections FINAL WHERE is_of_block = 1
  )
  GROUP BY chain, account, slot
) AS s
FULL JOIN (
  SELECT toString(chain) AS chain, account, slot, block_number, validator_index, toString(pubkey) AS pubkey,
    toInt256(user_reward_wei) AS user, toInt256(service_fee_wei) AS fee
  FROM (
    SELECT * REPLACE (toString(account) AS account) FROM settlements FINAL WHERE account IN (SELECT account FROM settlement_locks)
  ) AS t
  INNER JOIN locks ON locks.account = t.account
  WHERE toDate(t.time + 28800) <= locks.through
) AS d ON d.chain = s.chain AND d.account = s.account AND d.slot = s.slot
WHERE (s.account = '' OR d.account = '' OR s.user_wei != d.user OR s.fee_wei != d.fee)
  AND if(s.account = '', d.chain, s.chain) IN (SELECT chain FROM chains)
  AND (chain, account, slot) > ({afterChain:String}, {afterAccount:String}, {afterSlot:UInt64})
ORDER BY chain, account, slot
LIMIT {limit:UInt32}`

const DUE_SQL = `
SELECT account, slot, block_number, validator_index, pubkey, revenue_class, revenue_wei, fee_rate
FROM (${dueSettlementsSql({
  blocks: 'f.chain = {chain:String} AND toString(f.day) IN {days:Array(String)}',
  where: 'slot IN {slots:Array(UInt64)}',
})})
WHERE account != ''`

interface Looking {
  /** Of which chains and accounts. */
  readonly isMeant?: (of: { readonly chain: string; readonly account: string }) => boolean
  /** The look ends behind the suspects with which it has found so many differences. */
  readonly limit?: number
}

/**
 * Records of locked days that are no longer what their blocks prove: because evidence came late, epochs were told again, or blocks were
 * read only afterwards. Of days that are closed, since of others not everything is there. It says what the tables say: whether they have all of the log
 * is for the caller to know.
 */
export async function lockedDifferences(
  warehouse: Warehouse,
  { isMeant = () => true, limit = RECORDS_PER_LOOK }: Looking = {},
): Promise<readonly LockedDifference[]> {
  const differences: LockedDifference[] = []
  let after = { chain: '', account: '', slot: '0' }
  for (;;) {
    const suspects = await warehouse.query<SaidRow>(SUSPECTS_SQL, {
      ...{ limit, afterChain: after.chain, afterAccount: after.account, afterSlot: BigInt(after.slot) },
    })
    for (const [chain, said] of Map.groupBy(suspects.filter(isMeant), (row) => row.chain)) {
      differences.push(...(await differencesOfChain(warehouse, chain, said)))
    }
    const last = suspects.at(-1)
    // Suspects that stay so, as those of days that are not closed or of others than are meant, keep none waiting.
    if (last === undefined || suspects.length < limit || differences.length >= limit) return differences
    after = last
  }
}

async function differencesOfChain(
  warehouse: Warehouse,
  chain: string,
  suspects: readonly SaidRow[],
): Promise<readonly LockedDifference[]> {
  const clock = await chainClock(warehouse, chain)
  if (clock === undefined) return []
  const dayOf = ({ slot }: SaidRow): DayNumber => dayOfSlot(clock, Number(slot))
  const closed = await closedDays(warehouse, chain)
  const begun = await begunDay(warehouse, { chain, clock, closed, asked: new Set(suspects.map(dayOf)) })
  const isThere = (row: SaidRow): boolean =>
    closed.has(dayOf(row)) || (dayOf(row) === begun?.day && Number(row.slot) >= begun.firstSlot)
  const said = suspects.filter(isThere)
  if (said.length === 0) return []
  const days = [...new Set(said.map((row) => formatDay(dayOf(row))))]
  const due = await warehouse.query<DueRow>(DUE_SQL, { chain, days, slots: said.map(({ slot }) => BigInt(slot)) })
  const dueOf = new Map(due.map((row) => [`${row.account}:${row.slot}`, row]))
  return said.flatMap((row) => differenceOf(row, dueOf.get(`${row.account}:${row.slot}`)))
}

/** Days that everything is there of. */
async function closedDays(warehouse: Warehouse, chain: string): Promise<ReadonlySet<DayNumber>> {
  const rows = await warehouse.query<{ day: number }>(
    'SELECT toUInt32(day) AS day FROM closed_days FINAL WHERE chain = {chain:String} ORDER BY day',
    { chain },
  )
  return new Set(rows.map(({ day }) => day))
}

interface Beginning {
  readonly chain: string
  readonly clock: ChainClock
  readonly closed: ReadonlySet<DayNumber>
  readonly asked: ReadonlySet<DayNumber>
}

// More was there when it was locked, and what a block paid is told by others of its day, too.
const MORE_WAS_LOCKED_SQL = `
SELECT slot FROM locked_settlements WHERE chain = {chain:String} AND slot >= {dayStart:UInt64} AND slot < {firstSlot:UInt64} LIMIT 1`

/**
 * The day within which the tables begin, and its first slot that they have: it is never closed. Undefined unless all that follows of it is there, and
 * where the tables had more of it once: a chain that was removed, and is read again from later on, proves nothing of what it lacks now.
 */
async function begunDay(
  warehouse: Warehouse,
  { chain, clock, closed, asked }: Beginning,
): Promise<{ readonly day: DayNumber; readonly firstSlot: number } | undefined> {
  const [first] = closed
  if (first === undefined || !asked.has(first - 1)) return undefined
  const [epochs] = await warehouse.query<{ first: number }>(
    'SELECT min(epoch) AS first FROM epochs FINAL WHERE chain = {chain:String}',
    { chain },
  )
  const firstEpoch = epochs?.first ?? 0
  const firstSlot = firstEpoch * clock.slotsPerEpoch
  if (dayOfSlot(clock, firstSlot) !== first - 1) return undefined
  const dayStart = Math.max(0, firstSlotOfDay(clock, first - 1))
  const more = await warehouse.query(MORE_WAS_LOCKED_SQL, {
    chain,
    dayStart: BigInt(dayStart),
    firstSlot: BigInt(firstSlot),
  })
  if (more.length > 0) return undefined
  const lastSlot = firstSlotOfDay(clock, first) - 1
  const { epochs: lackingEpochs, blocks } = await missingOfDay(warehouse, chain, {
    ...{ day: first - 1, firstSlot, lastSlot, firstEpoch, firstTransition: firstEpoch },
    closingEpoch: epochOf(clock, lastSlot + 1),
    lastTransition: epochOf(clock, lastSlot),
  })
  return lackingEpochs + blocks === 0 ? { day: first - 1, firstSlot } : undefined
}

function differenceOf(said: SaidRow, due: DueRow | undefined): readonly LockedDifference[] {
  const proven = due === undefined ? NOTHING : splitRevenue(BigInt(due.revenue_wei), knownRate(due.fee_rate))
  const [user, fee] = [BigInt(said.user_wei), BigInt(said.fee_wei)]
  const userRewardWei = proven.userRewardWei - user
  const serviceFeeWei = proven.serviceFeeWei - fee
  if (userRewardWei === 0n && serviceFeeWei === 0n) return []
  const now = due === undefined ? 'proves nothing' : `proves ${eth(BigInt(due.revenue_wei))} (${due.revenue_class})`
  const reason = `Block ${said.block_number} ${now} by what is known now; ${eth(user + fee)} were settled of it.`
  return [
    {
      chain: said.chain,
      account: said.account,
      slot: Number(said.slot),
      blockNumber: Number(said.block_number),
      validatorIndex: said.validator_index,
      pubkey: said.pubkey,
      userRewardWei,
      serviceFeeWei,
      reason: reason.slice(0, REASON_MAX),
    },
  ]
}

const NOTHING = { userRewardWei: 0n, serviceFeeWei: 0n }

function eth(wei: Wei): string {
  return `${formatEthFromWei(wei)} ETH`
}
