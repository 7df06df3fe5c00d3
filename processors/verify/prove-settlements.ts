import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import type { SettledSpan } from '../../schemas/settled-rows.ts'
import { dueSettlementsSql, serviceFeeSql } from '../../schemas/tables/settlements.ts'
import { chainClocks } from '../rewards/days.ts'
import { type Checked, checkRanges, PROVE_ALL, type Proving } from './proving.ts'

export interface SettlementFault {
  readonly chain: string
  readonly account: string
  readonly slot: string
  readonly reason: string
}

export type SettlementProof = Checked<SettlementFault>

/** Slots of one statement, a month of mainnet: its joins are in memory. */
const SLOTS_PER_STATEMENT = 216_000

const SLOTS_NAMED_MAX = 5

const IN_RANGE = 'chain = {chain:String} AND slot BETWEEN {first:UInt64} AND {last:UInt64}'

/** Whole days, of which a block's class is made: a range begins and ends within some. */
const OF_DAYS = `f.chain = {chain:String} AND f.day IN (SELECT day FROM finalized_blocks WHERE ${IN_RANGE})`

const PROVEN_SQL = dueSettlementsSql({ blocks: OF_DAYS, where: 'slot BETWEEN {first:UInt64} AND {last:UInt64}' })

/** `mine` is a further condition on the account's name, of both sides. */
const settlementsSql = (mine = ''): string => `
SELECT
  if(p.account = '', s.chain, p.chain) AS chain, if(p.account = '', s.account, p.account) AS account, if(p.account = '', s.slot, p.slot) AS slot,
  multiIf(
    p.account = '', 'settled without proven revenue',
    s.account = '', 'proven revenue is not settled',
    s.revenue_wei != p.revenue_wei, 'settled revenue differs from the block',
    s.service_fee_wei + s.user_reward_wei != s.revenue_wei, 'fee and share do not sum to the revenue',
    s.fee_rate != p.fee_rate, 'the rate is not the one in force',
    s.service_fee_wei != ${serviceFeeSql('s.revenue_wei', 's.fee_rate')},
      'the fee is not the revenue times the rate, rounded down',
    (s.block_number, s.validator_index, toString(s.pubkey)) != (p.block_number, p.validator_index, p.pubkey),
      'it names another block or proposer than the chain',
    s.time != p.time, 'its time is not that of the block',
    (toString(s.revenue_class), toString(s.fee_address)) != (p.revenue_class, p.recipient), 'its class or payee is not that of the block',
    '') AS reason
FROM (SELECT * FROM (${PROVEN_SQL}) WHERE account != '' ${mine}) AS p
FULL JOIN (SELECT * FROM settlements FINAL WHERE ${IN_RANGE} ${mine}) AS s ON s.chain = p.chain AND s.account = p.account AND s.slot = p.slot`

/**
 * Checks that every proven block is settled once, whole, for the account that had its proposer that day, at the rate in force, with the block's own time,
 * proposer, class and payee, and nothing else is; some slots at a time.
 */
export async function proveSettlements(
  warehouse: Warehouse,
  { chain, again }: Proving = PROVE_ALL,
  slotsMax = SLOTS_PER_STATEMENT,
): Promise<SettlementProof> {
  const ranges = await slotRanges(warehouse, chain, slotsMax)
  return await checkRanges(warehouse, FAULTS, { ranges, again })
}

/** The same of one account's blocks in a time, before what was settled of them is kept for good. */
export async function proveSettledSpan(
  warehouse: Warehouse,
  { account, fromSec, toSec }: SettledSpan,
  again: Proving['again'],
): Promise<SettlementProof> {
  const clocks = await chainClocks(warehouse)
  const ranges = (await slotRanges(warehouse, '', SLOTS_PER_STATEMENT)).flatMap((range) => {
    const clock = clocks.get(range.chain)
    if (clock === undefined) return []
    const first = Math.max(range.first, Math.ceil((fromSec - clock.genesisTimeSec) / clock.secondsPerSlot))
    const last = Math.min(range.last, Math.ceil((toSec - clock.genesisTimeSec) / clock.secondsPerSlot) - 1)
    return first > last ? [] : [{ chain: range.chain, account, first, last }]
  })
  return await checkRanges(
    warehouse,
    { ...FAULTS, sql: settlementsSql('AND account = {account:String}') },
    { ranges, again },
  )
}

const FAULTS = { sql: settlementsSql(), isWrong: "reason != ''", order: 'chain, account, slot' }

const SLOTS_SQL = `
SELECT chain, min(slot) AS first, max(slot) AS last FROM (
  SELECT chain, slot FROM finalized_blocks WHERE {chain:String} IN ('', chain)
  UNION ALL SELECT chain, slot FROM settlements WHERE {chain:String} IN ('', chain)
) GROUP BY chain ORDER BY chain`

interface SlotRange {
  readonly chain: string
  readonly first: number
  readonly last: number
}

async function slotRanges(
  warehouse: Warehouse,
  chain: string,
  slotsMax: number,
): Promise<readonly (SlotRange & QueryParams)[]> {
  const spans = await warehouse.query<{ chain: string; first: string; last: string }>(SLOTS_SQL, { chain })
  return spans.flatMap((span) => {
    const [first, last] = [Number(span.first), Number(span.last)]
    return Array.from({ length: Math.ceil((last - first + 1) / slotsMax) }, (_, i) => {
      const from = first + i * slotsMax
      return { chain: span.chain, first: from, last: Math.min(last, from + slotsMax - 1) }
    })
  })
}

/** What a chain's blocks of known validators have proven, and to whom it was settled; all amounts in wei as decimal text. */
export interface RevenueProof {
  readonly chain: string
  readonly proven_wei: string
  readonly settled_wei: string
  /** Of validators that nobody had on the day. */
  readonly nobodys_wei: string
  /** Blocks that were settled for more than they have proven, or for more than one account, and the slots of some of them. */
  readonly blocks_oversettled: string
  readonly slots_oversettled: readonly string[]
}

const REVENUE_SQL = `
SELECT
  chain, sum(proven) AS proven_wei, sum(settled) AS settled_wei, sumIf(proven, owner = '') AS nobodys_wei,
  countIf(settled > proven OR accounts > 1) AS blocks_oversettled,
  arraySlice(arraySort(groupArrayIf(slot, settled > proven OR accounts > 1)), 1, {slots_named:UInt32}) AS slots_oversettled
FROM (
  SELECT
    if(s.accounts = 0, p.chain, s.chain) AS chain, if(s.accounts = 0, p.slot, s.slot) AS slot, p.account AS owner, p.revenue_wei AS proven, s.revenue_wei AS settled,
    s.accounts AS accounts
  FROM (${PROVEN_SQL}) AS p
  FULL JOIN (
    SELECT chain, slot, sum(revenue_wei) AS revenue_wei, count() AS accounts FROM settlements FINAL WHERE ${IN_RANGE}
    GROUP BY chain, slot
  ) AS s ON s.chain = p.chain AND s.slot = p.slot
)
GROUP BY chain ORDER BY chain`

/** Proves of each chain that every wei of proven revenue was settled for at most one account; some slots at a time. */
export async function proveRevenue(
  warehouse: Warehouse,
  { chain, again }: Proving = PROVE_ALL,
  slotsMax = SLOTS_PER_STATEMENT,
): Promise<readonly RevenueProof[]> {
  const ofChain = new Map<string, RevenueProof>()
  for (const range of await slotRanges(warehouse, chain, slotsMax)) {
    const params = { ...range, slots_named: SLOTS_NAMED_MAX }
    let [part] = await warehouse.query<RevenueProof>(REVENUE_SQL, params)
    while (part !== undefined && part.blocks_oversettled !== '0' && (await again())) {
      ;[part] = await warehouse.query<RevenueProof>(REVENUE_SQL, params)
    }
    if (part !== undefined) ofChain.set(range.chain, sumOf(ofChain.get(range.chain), part))
  }
  return [...ofChain.values()]
}

function sumOf(before: RevenueProof | undefined, part: RevenueProof): RevenueProof {
  if (before === undefined) return part
  const sum = (name: Exclude<keyof RevenueProof, 'chain' | 'slots_oversettled'>): string =>
    String(BigInt(before[name]) + BigInt(part[name]))
  return {
    chain: part.chain,
    proven_wei: sum('proven_wei'),
    settled_wei: sum('settled_wei'),
    nobodys_wei: sum('nobodys_wei'),
    blocks_oversettled: sum('blocks_oversettled'),
    slots_oversettled: [...before.slots_oversettled, ...part.slots_oversettled].slice(0, SLOTS_NAMED_MAX),
  }
}
