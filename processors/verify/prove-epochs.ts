import type { Warehouse } from '../../infra/ports/warehouse.ts'

/** An epoch in which a validator's balance change is not explained: narrows a wrong day down to one transition or block. */
export interface EpochResidual {
  readonly chain: string
  readonly epoch: number
  readonly validator_index: number
  readonly residual: string
}

export interface EpochProof {
  readonly checked: number
  readonly unexplained: number
  /** The first of them. */
  readonly examples: readonly EpochResidual[]
}

const EXAMPLES_MAX = 20

const EPOCH_RESIDUALS_SQL = `
SELECT chain, epoch, validator_index, residual
FROM (
  SELECT
    e.chain AS chain, e.epoch AS epoch, e.validator_index AS validator_index,
    e.balance_gwei - e.before
      - (e.source_gwei + e.target_gwei + e.head_gwei + e.inactivity_gwei + l.amount) AS residual
  FROM (
    SELECT *,
      lagInFrame(balance_gwei, 1, 0) OVER w AS before,
      -- Not 0: a first row of epoch 1 has no epoch before it.
      lagInFrame(epoch, 1, 4294967295) OVER w AS epoch_before
    FROM validator_epochs FINAL
    WINDOW w AS (PARTITION BY chain, validator_index ORDER BY epoch ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
  ) AS e
  LEFT JOIN (
    SELECT chain, epoch, validator_index, sum(amount_gwei) AS amount FROM ledger_entries FINAL
    GROUP BY chain, epoch, validator_index
  ) AS l ON l.chain = e.chain AND l.epoch = e.epoch AND l.validator_index = e.validator_index
  WHERE e.epoch_before + 1 = e.epoch
)`

/** Checks every pair of neighbouring epochs of every tracked validator, closed days or not. */
export async function proveEpochs(warehouse: Warehouse): Promise<EpochProof> {
  const [counts] = await warehouse.query<{ checked: string; unexplained: string }>(
    `SELECT count() AS checked, countIf(residual != 0) AS unexplained FROM (${EPOCH_RESIDUALS_SQL})`,
  )
  const unexplained = Number(counts?.unexplained ?? 0)
  const examples =
    unexplained === 0
      ? []
      : await warehouse.query<EpochResidual>(
          `SELECT * FROM (${EPOCH_RESIDUALS_SQL}) WHERE residual != 0 ORDER BY chain, epoch, validator_index LIMIT ${EXAMPLES_MAX}`,
        )
  return { checked: Number(counts?.checked ?? 0), unexplained, examples }
}
