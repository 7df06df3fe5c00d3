import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { Topic } from '../../schemas/events/codec.ts'

/** Of each topic of chains a table with a row for each of its blocks, whose version is one more than its event's offset. */
const TABLES: readonly (readonly [Topic, string])[] = [
  ['beacon.blocks', 'beacon_blocks'],
  ['beacon.epochs', 'finalized_blocks'],
  ['execution.blocks', 'execution_heights'],
  ['execution.logs', 'execution_log_parts'],
]

/**
 * The topics of which the tables have events that the log does not have: an older copy of the log was put in its place, whose next events get the
 * versions that rows of others have.
 */
export async function topicsAhead({
  eventLog,
  warehouse,
}: {
  readonly eventLog: Pick<EventLog, 'ends'>
  readonly warehouse: Warehouse
}): Promise<readonly Topic[]> {
  const newest = await warehouse.query<{ topic: Topic; version: string }>(
    TABLES.map(([topic, table]) => `SELECT '${topic}' AS topic, max(version) AS version FROM ${table}`).join(
      ' UNION ALL ',
    ),
  )
  // Behind the tables: what is processed meanwhile is in the log before it is in them.
  const ahead: Topic[] = []
  for (const { topic, version } of newest) {
    const ends = [0n, ...(await eventLog.ends(topic)).values()]
    if (ends.every((end) => end < BigInt(version))) ahead.push(topic)
  }
  return ahead
}
