import type { Warehouse } from '../../infra/ports/warehouse.ts'

const EXAMPLES_MAX = 20

export interface SettlementFault {
  readonly chain: string
  readonly account: string
  readonly slot: string
  readonly reason: string
}

export interface SettlementProof {
  readonly checked: number
  readonly wrong: number
  /** The first of them. */
  readonly examples: readonly SettlementFault[]
}

/** Rates have at most 18 decimal places: times this they are integers. */
const RATE_UNIT = "toUInt256('1000000000000000000')"

// From the accounts to the blocks, where settling goes from the blocks to the accounts.
const SETTLEMENTS_SQL = `
SELECT
  if(p.account = '', s.chain, p.chain) AS chain, if(p.account = '', s.account, p.account) AS account, if(p.account = '', s.slot, p.slot) AS slot,
  multiIf(
    p.account = '', 'settled without proven revenue',
    s.account = '', 'proven revenue is not settled',
    s.revenue_wei != p.revenue_wei, 'settled revenue differs from the block',
    s.service_fee_wei + s.user_reward_wei != s.revenue_wei, 'fee and share do not sum to the revenue',
    s.service_fee_wei != intDiv(s.revenue_wei * toUInt256(toDecimal256(s.fee_rate, 18) * ${RATE_UNIT}), ${RATE_UNIT}),
      'the fee is not the revenue times the rate, rounded down',
    '') AS reason
FROM (
  SELECT a.chain AS chain, a.account AS account, f.slot AS slot, t.revenue_wei AS revenue_wei
  FROM (SELECT account, chain, pubkey FROM account_validators FINAL) AS a
  INNER JOIN (SELECT chain, pubkey, validator_index FROM validators FINAL) AS v
    ON v.chain = a.chain AND v.pubkey = a.pubkey
  INNER JOIN (SELECT chain, slot, proposer_index, execution_block_hash FROM finalized_blocks FINAL) AS f
    ON f.chain = v.chain AND f.proposer_index = v.validator_index
  INNER JOIN (
    SELECT chain, block_hash, revenue_wei FROM execution_blocks FINAL WHERE revenue_class != 'unexplained'
  ) AS t ON t.chain = f.chain AND t.block_hash = f.execution_block_hash
) AS p
FULL JOIN (SELECT * FROM settlements FINAL) AS s ON s.chain = p.chain AND s.account = p.account AND s.slot = p.slot`

/** Checks that every proven block of every account is settled once, whole, and nothing else is. */
export async function proveSettlements(warehouse: Warehouse): Promise<SettlementProof> {
  const [counts] = await warehouse.query<{ checked: string; wrong: string }>(
    `SELECT count() AS checked, countIf(reason != '') AS wrong FROM (${SETTLEMENTS_SQL})`,
  )
  const wrong = Number(counts?.wrong ?? 0)
  const examples =
    wrong === 0
      ? []
      : await warehouse.query<SettlementFault>(
          `SELECT * FROM (${SETTLEMENTS_SQL}) WHERE reason != '' ORDER BY chain, account, slot LIMIT ${EXAMPLES_MAX}`,
        )
  return { checked: Number(counts?.checked ?? 0), wrong, examples }
}
