import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import { newestToldSql, ROUNDING_GWEI_MAX } from '../../schemas/tables/day-levels.ts'
import { COMPILED_ROWS_MIN, COMPILED_SUMS } from '../compiled-sums.ts'
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

/** Rows of one statement: its sums take about 100 bytes in memory for each validator and `TOGETHER` epochs. */
const ROWS_PER_STATEMENT = 8_000_000
/** Epochs that are summed under one key. */
const TOGETHER = 8

const RANGE = 'epoch BETWEEN {first:UInt32} AND {last:UInt32}'

const PLACES = Array.from({ length: TOGETHER }, (_, place) => place)

// An epoch's residual is the sum of what explains a balance, of that balance, and of the one before it, negative. A row of an epoch stands at its place
// among those under one key, and its balance in that of the next one, too; what ends in a key's first place is read once more, for it is another
// key's. One key for several epochs: most of the time goes into finding keys. Who has no row of both epochs (bits) is not compared.
const EPOCH_RESIDUALS_SQL = `
SELECT
  {chain:String} AS chain, toUInt32({first:UInt32} + bitShiftRight(key, 32) * ${TOGETHER} + place) AS epoch,
  toUInt32(bitAnd(key, 4294967295)) AS validator_index, residual
FROM (
  SELECT
    key, groupBitOr(bit) AS bits, [${PLACES.map(sumAt).join(', ')}] AS residuals
  FROM (
    SELECT
      ${keyOf('epoch')} AS key, ${placeOf('epoch')} AS at, bitShiftLeft(toUInt16(1), at + 1) AS bit,
      balance_gwei - (source_gwei + target_gwei + head_gwei + inactivity_gwei) AS own, -balance_gwei AS following
    FROM validator_epochs FINAL WHERE chain = {chain:String} AND ${RANGE}
    UNION ALL
    SELECT ${keyOf('epoch + 1')}, toInt8(-1), toUInt16(1), toInt64(0), -balance_gwei
    FROM validator_epochs FINAL
    WHERE chain = {chain:String} AND epoch + 1 BETWEEN {first:UInt32} AND {last:UInt32} AND ${placeOf('epoch + 1')} = 0
    UNION ALL
    SELECT ${keyOf('epoch')}, ${placeOf('epoch')}, toUInt16(0), -amount_gwei, toInt64(0)
    FROM ledger_entries FINAL WHERE chain = {chain:String} AND ${RANGE} AND version IN (${newestToldSql(RANGE)})
  )
  GROUP BY key
)
ARRAY JOIN residuals AS residual, range(${TOGETHER}) AS place
WHERE bitAnd(bitShiftRight(bits, place), 3) = 3`

function keyOf(epoch: string): string {
  return `bitShiftLeft(toUInt64(intDiv(${epoch} - {first:UInt32}, ${TOGETHER})), 32) + validator_index`
}

function placeOf(epoch: string): string {
  return `toInt8((${epoch} - {first:UInt32}) % ${TOGETHER})`
}

function sumAt(place: number): string {
  return `sum(multiIf(at = ${place}, own, at = ${place - 1}, following, 0))`
}

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
  const rows = chains.reduce((sum, { first, last, validators }) => sum + (last - first + 1) * Number(validators), 0)
  const checking = rows < COMPILED_ROWS_MIN ? RESIDUALS : { ...RESIDUALS, settings: COMPILED_SUMS }
  const proof = await checkRanges<EpochResidual>(warehouse, checking, { ranges, again })
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
