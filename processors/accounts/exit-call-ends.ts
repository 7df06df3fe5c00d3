import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { exitCallRead } from '../../schemas/events/exit-calls.ts'
import { type TableRows, versionOf } from '../loop/rows.ts'

/** The row of what became of a call to the exit-request contract. */
export function projectExitCallEnd({ event, position }: StoredEvent): TableRows {
  const { chain, blockHash, logIndex, txHash, withdrawalAddress, outcome } = decodeEvent(exitCallRead, event)
  const isTaken = outcome.status === 'taken'
  const passedOver = isTaken ? outcome.passedOver.map(({ reason, validators }) => [reason, validators]) : []
  return {
    table: 'exit_call_ends',
    columns: {
      chain: [chain],
      block_hash: [blockHash],
      log_index: Uint32Array.of(logIndex),
      time: Uint32Array.of(Math.floor(Date.parse(event.time) / 1_000)),
      transaction_hash: [txHash],
      withdrawal_address: [withdrawalAddress],
      status: [outcome.status],
      reason: [isTaken ? '' : outcome.reason],
      scheduled: Uint32Array.of(isTaken ? outcome.scheduled : 0),
      passed_over: [JSON.stringify(Object.fromEntries(passedOver))],
      version: BigUint64Array.of(versionOf(position)),
    },
  }
}
