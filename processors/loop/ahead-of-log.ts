import type { EventLog } from '../../infra/ports/event-log.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Topic } from '../../schemas/events/codec.ts'

/** Of each topic of chains a table with a row for each of its blocks, whose version is one more than its event's offset. */
const TABLES: readonly (readonly [Topic, string])[] = [
  ['beacon.blocks', 'beacon_blocks'],
  ['beacon.epochs', 'finalized_blocks'],
  ['execution.blocks', 'execution_heights'],
  ['execution.logs', 'execution_log_parts'],
]

interface Stores {
  readonly eventLog: Pick<EventLog, 'ends'>
  readonly warehouse: WarehouseReader
}

/** Throws AppError `config` where tables have what the log does not have: what comes next would be taken for what they know. */
export async function refuseOlderLog(stores: Stores): Promise<void> {
  const topics = await topicsAhead(stores)
  if (topics.length === 0) return
  throw new AppError(
    'config',
    `${olderLogSentence(topics)}: put back the log that belongs to these tables, or run \`epochline rebuild\` to make them of this one.`,
  )
}

export function olderLogSentence(topics: readonly Topic[]): string {
  return `The tables have events of ${topics.join(', ')} that the log does not have, as if an older copy of it had been put in its place`
}

/**
 * The topics, in the order of `TABLES`, of which the tables have events that the log does not have: an older copy of the log was put in
 * its place, whose next events get the versions that rows of others have.
 */
export async function topicsAhead({ eventLog, warehouse }: Stores): Promise<readonly Topic[]> {
  const newest = await warehouse.query<{ topic: Topic; version: string }>(
    TABLES.map(([topic, table]) => `SELECT '${topic}' AS topic, max(version) AS version FROM ${table}`).join(
      ' UNION ALL ',
    ),
  )
  // Behind the tables: what is processed meanwhile is in the log before it is in them.
  const ahead = new Set<Topic>()
  for (const { topic, version } of newest) {
    const ends = [0n, ...(await eventLog.ends(topic)).values()]
    if (ends.every((end) => end < BigInt(version))) ahead.add(topic)
  }
  return TABLES.map(([topic]) => topic).filter((topic) => ahead.has(topic))
}
