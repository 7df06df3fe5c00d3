import { depositDataRoot } from '../../schemas/eth/deposit-data.ts'
import { type DepositEvent, decodeDepositEvent } from '../../schemas/eth/deposit-event.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import { ADDRESS_BYTES, HASH_BYTES } from '../../schemas/events/execution-block.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { constantColumn, type TableRows, textColumn } from '../loop/rows.ts'

/**
 * Rows of the deposits among a part's logs, whatever contract emitted them: which one is the chain's may be told later. Such a log is
 * never long enough to be cut.
 */
export function depositRows({ header, columns }: ExecutionLogsData, version: bigint): TableRows {
  const found: { readonly row: number; readonly deposit: DepositEvent }[] = []
  for (const [row, data] of columns.data.entries()) {
    const isWhole = columns.dataTotal[row] === data.length
    const deposit = isWhole ? decodeDepositEvent(columns.topics[row] as Uint8Array, data) : undefined
    if (deposit !== undefined) found.push({ row, deposit })
  }
  const rows = found.length
  return {
    table: 'deposits',
    columns: {
      chain: textColumn(rows, header.chain),
      pubkey: found.map(({ deposit }) => hexOf(deposit.pubkey)),
      contract: found.map(({ row }) => hexOf(bytesOfRow(columns.address, row, ADDRESS_BYTES))),
      block_hash: textColumn(rows, header.hash),
      log_index: Uint32Array.from(found, ({ row }) => columns.logIndex[row] as number),
      block_number: constantColumn(rows, BigInt(header.number)),
      time: new Uint32Array(rows).fill(header.timestampSec),
      transaction_hash: found.map(({ row }) => hexOf(bytesOfRow(columns.transactionHash, row, HASH_BYTES))),
      withdrawal_credentials: found.map(({ deposit }) => hexOf(deposit.withdrawalCredentials)),
      amount_gwei: BigUint64Array.from(found, ({ deposit }) => deposit.amountGwei),
      deposit_data_root: found.map(({ deposit }) => hexOf(depositDataRoot(deposit, deposit.signature))),
      deposit_index: BigUint64Array.from(found, ({ deposit }) => deposit.index),
      version: constantColumn(rows, version),
    },
  }
}
