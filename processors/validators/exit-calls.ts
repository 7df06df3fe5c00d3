import { decodeExitCall, type ExitCall } from '../../schemas/eth/exit-call.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { logPlaces } from '../loop/log-places.ts'
import { constantColumn, noRows, type TableRows } from '../loop/rows.ts'

/**
 * Rows of the calls to exit-request contracts among a part's logs, whatever contract emitted them: which one is the chain's is configured
 * elsewhere. Of a log that is too long for a part the first piece makes its row.
 */
export function exitCallRows(part: ExecutionLogsData, version: bigint): TableRows {
  const { columns } = part
  const found: { readonly row: number; readonly call: ExitCall }[] = []
  for (let row = 0; row < columns.data.length; row++) {
    if (columns.dataOffset[row] !== 0) continue
    const [topics, data] = [columns.topics[row], columns.data[row]] as [Uint8Array, Uint8Array]
    const call = decodeExitCall(topics, data, columns.dataTotal[row] as number)
    if (call !== undefined) found.push({ row, call })
  }
  if (found.length === 0) return noRows('exit_calls')
  const places = logPlaces(
    part,
    found.map(({ row }) => row),
  )
  return {
    table: 'exit_calls',
    columns: {
      ...places,
      withdrawal_address: found.map(({ call }) => call.withdrawalAddress),
      kind: found.map(({ call }) => call.calledFor.kind),
      fault: found.map(({ call: { calledFor } }) => (calledFor.kind === 'faulty' ? calledFor.fault : '')),
      pubkeys: found.map(({ call: { calledFor } }) =>
        calledFor.kind === 'listed' ? calledFor.pubkeys.map((pubkey) => pubkey.slice(2)).join('') : '',
      ),
      version: constantColumn(found.length, version),
    },
  }
}
