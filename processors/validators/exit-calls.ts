import { decodeExitCall, type ExitCall } from '../../schemas/eth/exit-call.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import { ADDRESS_BYTES, HASH_BYTES } from '../../schemas/events/execution-block.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { constantColumn, type TableRows, textColumn } from '../loop/rows.ts'

/**
 * Rows of the calls to exit-request contracts among a part's logs, whatever contract emitted them: which one is the chain's is configured
 * elsewhere. Of a log that is too long for a part the first piece makes its row.
 */
export function exitCallRows({ header, columns }: ExecutionLogsData, version: bigint): TableRows {
  const found: { readonly row: number; readonly call: ExitCall }[] = []
  for (const [row, data] of columns.data.entries()) {
    if (columns.dataOffset[row] !== 0) continue
    const call = decodeExitCall(columns.topics[row] as Uint8Array, data, columns.dataTotal[row] as number)
    if (call !== undefined) found.push({ row, call })
  }
  const rows = found.length
  return {
    table: 'exit_calls',
    columns: {
      chain: textColumn(rows, header.chain),
      contract: found.map(({ row }) => hexOf(bytesOfRow(columns.address, row, ADDRESS_BYTES))),
      block_hash: textColumn(rows, header.hash),
      log_index: Uint32Array.from(found, ({ row }) => columns.logIndex[row] as number),
      block_number: constantColumn(rows, BigInt(header.number)),
      time: new Uint32Array(rows).fill(header.timestampSec),
      transaction_hash: found.map(({ row }) => hexOf(bytesOfRow(columns.transactionHash, row, HASH_BYTES))),
      withdrawal_address: found.map(({ call }) => call.withdrawalAddress),
      kind: found.map(({ call }) => call.calledFor.kind),
      fault: found.map(({ call: { calledFor } }) => (calledFor.kind === 'faulty' ? calledFor.fault : '')),
      pubkeys: found.map(({ call: { calledFor } }) =>
        calledFor.kind === 'listed' ? calledFor.pubkeys.map((pubkey) => pubkey.slice(2)).join('') : '',
      ),
      version: constantColumn(rows, version),
    },
  }
}
