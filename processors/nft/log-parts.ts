import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { uint16Column, uint32Column } from '../loop/column-memory.ts'
import { constantColumn, type TableRows, textColumn, versionOf } from '../loop/rows.ts'

/**
 * That a part of a block's logs is there: they are complete when there is a row for each of the `parts` of one reading, in
 * buckets of contracts or in the block's own. A log in several pieces counts in the part where it begins, so that `logs` of
 * a reading adds up to those of the block.
 */
export function logPartRow({ header, columns }: ExecutionLogsData, stored: StoredEvent): TableRows {
  return {
    table: 'execution_log_parts',
    columns: {
      chain: textColumn(1, header.chain),
      block_number: constantColumn(1, BigInt(header.number)),
      block_hash: [header.hash],
      bucket: uint16Column(1).fill(header.bucket),
      part: uint16Column(1).fill(header.part),
      parts: uint16Column(1).fill(header.parts),
      logs: uint32Column(1).fill(columns.dataOffset.reduce((logs, offset) => (offset === 0 ? logs + 1 : logs), 0)),
      bytes: constantColumn(1, BigInt(stored.event.data.length)),
      version: constantColumn(1, versionOf(stored.position)),
    },
  }
}
