import type { Arrival } from '../../schemas/routes/nft/owned-reasons.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'
import { tokenHex } from './amounts.ts'
import type { NftPin } from './asking.ts'
import { foldSql } from './literals.ts'
import type { Token } from './metadata.ts'
import { inList } from './transfer-rows.ts'

/** Blocks that one page looks for arrivals in: of each a whole piece of the table is read. */
export const ARRIVAL_BLOCKS_MAX = 25
/** Transfers to the owner in all of these blocks; where there are more, how the later tokens came is not told. */
const ARRIVALS_READ_MAX = 4_096
const READ_ROWS = 1_024

/** A token, and the block since which its owner holds it; undefined where that is not known. */
export interface Held extends Token {
  readonly sinceBlock: number | undefined
}

interface Row {
  readonly contract: string
  readonly token_id: string
  readonly standard: string
  readonly block_number: string
  readonly sent_from: string
  readonly sender: string
  readonly transaction_hash: string
  readonly log_index: number
}

const NOBODY = `0x${'00'.repeat(20)}`
const shown = (column: string): string => `concat('0x', lower(hex(${column})))`
const keyOf = (contract: string, token: string, standard: string | null, block: number | undefined): string =>
  `${contract} ${token} ${standard} ${block}`

/** The transfer by which each token came, in the order of the question: in the block since which it is held, the last one. */
export async function arrivalsOf(scope: NftPin, owner: string, tokens: readonly Held[]): Promise<readonly Arrival[]> {
  const blocks = [...new Set(tokens.map(({ sinceBlock }) => sinceBlock).filter((block) => block !== undefined))]
  if (blocks.length === 0) return tokens.map(() => null)
  const pairs = tokens.map(
    ({ contract, tokenId }) => `(${bytesSql(contract.slice(2))}, ${bytesSql(tokenHex(tokenId))})`,
  )
  const account = bytesSql(owner.slice(2))
  const rows = await scope.warehouse.query<Row>(
    `SELECT ${shown('contract')} AS contract, lower(hex(token_id)) AS token_id, toString(standard) AS standard,
       toString(block_number) AS block_number, ${shown('last.1')} AS sent_from, ${shown('last.2')} AS sender,
       ${shown('last.3')} AS transaction_hash, last.4 AS log_index
     FROM (
       SELECT contract, token_id, standard, block_number,
         argMax((from_address, sender, transaction_hash, log_index), (log_index, batch_index)) AS last
       FROM (
         SELECT contract, token_id, standard, block_number, log_index, batch_index, from_address, sender, transaction_hash
         FROM nft_transfer_lists
         WHERE ${foldSql(scope)} AND ${inList('to', owner.slice(2))}
           AND block_number IN (${blocks.join(', ')}) AND ${scope.standing.notReverted}
         ORDER BY block_number, log_index, batch_index LIMIT ${ARRIVALS_READ_MAX}
       )
       WHERE (contract, token_id) IN (${[...new Set(pairs)].join(', ')}) AND from_address != ${account}
       GROUP BY contract, token_id, standard, block_number
     )
     SETTINGS max_block_size = ${READ_ROWS}, read_in_order_use_buffering = 0, max_threads = 1`,
  )
  const found = new Map(
    rows.map((row) => [keyOf(row.contract, row.token_id, row.standard, Number(row.block_number)), row]),
  )
  return tokens.map(({ contract, tokenId, standard, sinceBlock }) => {
    const row = found.get(keyOf(contract, tokenHex(tokenId), standard, sinceBlock))
    return row === undefined ? null : toArrival(row)
  })
}

function toArrival({ block_number, sent_from, sender, transaction_hash, log_index }: Row): Arrival {
  return {
    block_number: Number(block_number),
    tx_hash: transaction_hash,
    log_index,
    from: sent_from,
    sender: sender === NOBODY ? null : sender,
  }
}
