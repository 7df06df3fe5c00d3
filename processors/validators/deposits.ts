import { depositDataRoot } from '../../schemas/eth/deposit-data.ts'
import { type DepositEvent, decodeDepositEvent } from '../../schemas/eth/deposit-event.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { logPlaces } from '../loop/log-places.ts'
import { constantColumn, noRows, type TableRows } from '../loop/rows.ts'

/**
 * Rows of the deposits among a part's logs, whatever contract emitted them: which one is the chain's may be told later. Such a log is
 * never long enough to be cut.
 */
export function depositRows(part: ExecutionLogsData, version: bigint): TableRows {
  const { columns } = part
  const found: { readonly row: number; readonly deposit: DepositEvent }[] = []
  for (let row = 0; row < columns.data.length; row++) {
    const data = columns.data[row] as Uint8Array
    const isWhole = columns.dataTotal[row] === data.length
    const deposit = isWhole ? decodeDepositEvent(columns.topics[row] as Uint8Array, data) : undefined
    if (deposit !== undefined) found.push({ row, deposit })
  }
  if (found.length === 0) return noRows('deposits')
  const places = logPlaces(
    part,
    found.map(({ row }) => row),
  )
  return {
    table: 'deposits',
    columns: {
      ...places,
      pubkey: found.map(({ deposit }) => hexOf(deposit.pubkey)),
      withdrawal_credentials: found.map(({ deposit }) => hexOf(deposit.withdrawalCredentials)),
      amount_gwei: BigUint64Array.from(found, ({ deposit }) => deposit.amountGwei),
      deposit_data_root: found.map(({ deposit }) => hexOf(depositDataRoot(deposit, deposit.signature))),
      deposit_index: BigUint64Array.from(found, ({ deposit }) => deposit.index),
      version: constantColumn(found.length, version),
    },
  }
}
