import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { type TableRows, textColumn, versionOf } from '../loop/rows.ts'

/**
 * That a part of a block's logs is there: they are complete when there is a row for each of its `parts`. A log in
 * several pieces counts in the part where it begins, so that `logs` adds up to those of the block.
 */
export function logPartRow({ header, columns }: ExecutionLogsData, stored: StoredEvent): TableRows {
  return {
    table: 'execution_log_parts',
    columns: {
      chain: textColumn(1, header.chain),
      block_number: BigUint64Array.of(BigInt(header.number)),
      block_hash: [header.hash],
      bucket: Uint16Array.of(header.bucket),
      part: Uint16Array.of(header.part),
      parts: Uint16Array.of(header.parts),
      logs: Uint32Array.of(columns.dataOffset.reduce((logs, offset) => (offset === 0 ? logs + 1 : logs), 0)),
      bytes: BigUint64Array.of(BigInt(stored.event.data.length)),
      version: BigUint64Array.of(versionOf(stored.position)),
    },
  }
}
