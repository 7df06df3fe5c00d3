import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import { newestToldSql, ROUNDING_GWEI_MAX } from '../../schemas/tables/day-levels.ts'
import { checkRanges, PROVE_ALL, type Proving } from './proving.ts'

/**
 * An epoch in which a validator's balance change is not explained, be it by what nodes round where no states were read: narrows a wrong
 * day down to one transition or block.
 */
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

/** Rows of one statement: its windows and joins hold them in memory, about 100 bytes each. */
const ROWS_PER_STATEMENT = 2_000_000

const RANGE = 'epoch BETWEEN {first:UInt32} AND {last:UInt32}'

// The epoch before the range is read, too: each epoch is compared with the one before it.
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
    WHERE chain = {chain:String} AND epoch + 1 >= {first:UInt32} AND epoch <= {last:UInt32}
    WINDOW w AS (PARTITION BY chain, validator_index ORDER BY epoch ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
  ) AS e
  LEFT JOIN (
    SELECT chain, epoch, validator_index, sum(amount_gwei) AS amount FROM ledger_entries FINAL
    WHERE chain = {chain:String} AND ${RANGE} AND version IN (${newestToldSql(RANGE)})
    GROUP BY chain, epoch, validator_index
  ) AS l ON l.chain = e.chain AND l.epoch = e.epoch AND l.validator_index = e.validator_index
  WHERE e.epoch_before + 1 = e.epoch AND e.epoch >= {first:UInt32}
)`

interface ChainEpochs {
  readonly chain: string
  readonly first: number
  readonly last: number
  /** Validators of the epoch that has the most. */
  readonly validators: string
}

const CHAIN_EPOCHS_SQL = `
SELECT chain, min(epoch) AS first, max(epoch) AS last, max(rows) AS validators
FROM (SELECT chain, epoch, count() AS rows FROM validator_epochs WHERE {chain:String} IN ('', chain) GROUP BY chain, epoch)
GROUP BY chain ORDER BY chain`

/**
 * Checks every pair of neighbouring epochs of every tracked validator, closed days or not; of one chain if it is given. Some
 * epochs at a time, as many as fit `rowsMax`.
 */
export async function proveEpochs(
  warehouse: Warehouse,
  { chain, again }: Proving = PROVE_ALL,
  rowsMax = ROWS_PER_STATEMENT,
): Promise<EpochProof> {
  const chains = await warehouse.query<ChainEpochs>(CHAIN_EPOCHS_SQL, { chain })
  const ranges = chains.flatMap((one) => epochRanges(one, rowsMax))
  const proof = await checkRanges<EpochResidual>(warehouse, RESIDUALS, { ranges, again })
  return { checked: proof.checked, unexplained: proof.wrong, examples: proof.examples }
}

const READ_EPOCHS = `SELECT epoch FROM epoch_proofs FINAL WHERE chain = {chain:String} AND ${RANGE} AND level != 'reported'`

const RESIDUALS = {
  sql: EPOCH_RESIDUALS_SQL,
  isWrong: `abs(residual) > if(epoch IN (${READ_EPOCHS}), 0, ${ROUNDING_GWEI_MAX})`,
  order: 'chain, epoch, validator_index',
}

function epochRanges(
  { chain, first: from, last: to, validators }: ChainEpochs,
  rowsMax: number,
): readonly QueryParams[] {
  const step = Math.max(1, Math.floor(rowsMax / Number(validators)))
  return Array.from({ length: Math.ceil((to - from + 1) / step) }, (_, i) => {
    const first = from + i * step
    return { chain, first, last: Math.min(to, first + step - 1) }
  })
}
