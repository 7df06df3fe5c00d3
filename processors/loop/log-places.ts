import { hexOf } from '../../schemas/eth/hex.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import { ADDRESS_BYTES, HASH_BYTES } from '../../schemas/events/execution-block.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { constantColumn, textColumn } from './rows.ts'

/** Columns that say where logs of a part stand; `found` are their rows in it. */
export function logPlaces({ header, columns }: ExecutionLogsData, found: readonly number[]) {
  const rows = found.length
  return {
    chain: textColumn(rows, header.chain),
    contract: found.map((row) => hexOf(bytesOfRow(columns.address, row, ADDRESS_BYTES))),
    block_hash: textColumn(rows, header.hash),
    log_index: Uint32Array.from(found, (row) => columns.logIndex[row] as number),
    block_number: constantColumn(rows, BigInt(header.number)),
    time: new Uint32Array(rows).fill(header.timestampSec),
    transaction_hash: found.map((row) => hexOf(bytesOfRow(columns.transactionHash, row, HASH_BYTES))),
  }
}
