import { bytesSql } from '../../schemas/tables/literals.ts'
import { KEYS, lookUpKeys } from '../http/lookups.ts'
import type { NftScope } from './asking.ts'
import { foldSql } from './literals.ts'
import { type Counts, selectCounts } from './newest.ts'
import { placeOfTotal, TOTALS } from './totals.ts'

const bytes = (address: string): string => bytesSql(address.slice(2))

/** How many tokens of a contract somebody has; of one whose row has changed very often, too. */
export const selectHolding = (scope: NftScope, contract: string, holder: string) =>
  selectCounts(scope, {
    ...placeOfTotal('contract_account', contract.slice(2), holder.slice(2)),
    columns: ['tokens'],
  })

/** Rows of several pairs, all together: most have few. */
const PAIRS_ROWS_MAX = 1_000

interface PairRow extends Counts {
  readonly of_contract: string
  readonly of_holder: string
  readonly of_block: string
}

/** The same of one whose row has changed a few times, found together with those of other questions. */
export async function selectUsualHolding(scope: NftScope, contract: string, holder: string) {
  const rows = await lookUpKeys<PairRow>(
    scope.warehouse,
    `SELECT hex(key) AS of_contract, hex(other) AS of_holder, tokens AS first, block_number, hex(block_hash) AS of_block
     FROM ${TOTALS} WHERE ${foldSql(scope)} AND kind = 'contract_account' AND (key, other) IN (${KEYS}) LIMIT ${PAIRS_ROWS_MAX}`,
    `(${bytes(contract)}, ${bytes(holder)})`,
  )
  if (rows.length >= PAIRS_ROWS_MAX) return await selectHolding(scope, contract, holder)
  const [ofContract, ofHolder] = [contract.slice(2).toUpperCase(), holder.slice(2).toUpperCase()]
  return rows
    .filter(
      (row) =>
        row.of_holder === ofHolder &&
        row.of_contract === ofContract &&
        Number(row.block_number) <= scope.snapshot.number &&
        !scope.standing.isReverted(row.of_block),
    )
    .reduce<Counts | undefined>(
      (newest, row) => (Number(row.block_number) > Number(newest?.block_number ?? -1) ? row : newest),
      undefined,
    )
}
