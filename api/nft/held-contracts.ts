import type { Acquired } from '../../schemas/routes/nft/fields.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'
import { IS_HELD } from './amounts.ts'
import type { NftScope } from './asking.ts'
import { FIRST_BLOCK } from './coverage.ts'
import { foldSql } from './literals.ts'
import type { Standard } from './metadata.ts'

/** Rows of an owner's tokens up to the asked block that one page of contracts looks at. */
const LOOKED_AT_MAX = 16_000
/** The same with those of later and of reverted blocks, among which they lie: what is read of the table. */
const PASSED_MAX = 40_000
const READ_ROWS = 1_024

/** What an owner's tokens of a contract tell of it. */
export interface HeldContract {
  readonly standard: Standard
  /** Since when the oldest of them is held. */
  readonly acquired: Acquired
}

interface Row {
  readonly contract: string
  readonly standard: Standard
  readonly has_many: number
  readonly since_block: string
  readonly since_sec: number
  readonly is_end: number
  readonly is_cut: number
}

/**
 * Of contracts, by their addresses, as far as the rows tell that are looked at: those that come later in the order of addresses are left
 * out, and of the last one it is not known since when.
 */
export async function heldContracts(
  scope: NftScope,
  owner: string,
  contracts: readonly string[],
): Promise<ReadonlyMap<string, HeldContract>> {
  if (contracts.length === 0) return new Map()
  const rows = await scope.warehouse.query<Row>(
    `SELECT concat('0x', lower(hex(one))) AS contract, toString(first_standard) AS standard, has_many,
       toString(oldest) AS since_block, toUnixTimestamp(oldest_time) AS since_sec, one = max(one) OVER () AS is_end,
       sum(rows) OVER () >= ${LOOKED_AT_MAX} OR max(place) OVER () = ${PASSED_MAX - 1} AS is_cut
     FROM (
       SELECT contract AS one, sum(token_rows) AS rows, max(token_place) AS place, argMinIf(standard, (token_id, standard), is_known) AS first_standard,
         countIf(is_held AND standard = 'ERC1155') > 0 AS has_many,
         minIf(since_block, is_held) AS oldest, argMinIf(since_time, since_block, is_held) AS oldest_time
       FROM (
         SELECT contract, token_id, standard, is_known, token_rows, token_place, newest.1 AS amount, newest.2 AS excess, newest.3 AS since_block, newest.4 AS since_time,
           is_known AND ${IS_HELD} AS is_held
         FROM (
           SELECT contract, token_id, standard, countIf(counts) AS token_rows, token_rows > 0 AS is_known, max(passed) AS token_place,
             argMaxIf((amount, excess, since_block, since_time), block_number, counts) AS newest
           FROM (
             SELECT * FROM (
               SELECT *, block_number <= ${scope.snapshot.number} AND ${scope.standing.notReverted} AS counts, rowNumberInAllBlocks() AS passed
               FROM (
                 SELECT contract, token_id, standard, block_number, block_hash, amount, excess, since_block, since_time
                 FROM nft_holder_tokens
                 WHERE ${foldSql(scope)} AND holder = ${bytesSql(owner.slice(2))}
                   AND contract IN (${contracts.map((contract) => bytesSql(contract.slice(2))).join(', ')})
                 ORDER BY contract, token_id, standard, block_number LIMIT ${PASSED_MAX}
               )
             )
             WHERE counts OR passed = ${PASSED_MAX - 1} LIMIT ${LOOKED_AT_MAX}
           )
           GROUP BY contract, token_id, standard
         )
       )
       GROUP BY contract
       HAVING rows > 0
     )
     SETTINGS max_block_size = ${READ_ROWS}, read_in_order_use_buffering = 0, max_threads = 1`,
  )
  return new Map(rows.map((row) => [row.contract, toHeld(scope, row)]))
}

function toHeld({ standing }: NftScope, row: Row): HeldContract {
  const isCut = row.is_end === 1 && row.is_cut === 1
  // What somebody had of tokens that there are many of before the first block nobody knows.
  const isUnknown = isCut || (row.has_many === 1 && standing.start > FIRST_BLOCK)
  const acquired = isUnknown ? null : { block_number: Number(row.since_block), block_timestamp: row.since_sec }
  return { standard: row.standard, acquired }
}
