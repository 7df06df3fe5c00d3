import { openKafkaEventLog } from '../../infra/event-log/kafka.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'

/** Where a log lies, as text that another process can be given. */
export type LogPlace =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'kafka'; readonly broker: string; readonly topicPrefix: string }

/** Several, so that keys lie in different ones. */
const PARTITIONS = 3

/** Opens the log. Every opening is a further process's view of it. */
export function openLogAt(place: LogPlace): Promise<EventLog> {
  if (place.kind === 'sqlite') return openSqliteEventLog({ file: place.file })
  return openKafkaEventLog({
    brokers: [place.broker],
    clientId: 'test',
    topicPrefix: place.topicPrefix,
    partitions: PARTITIONS,
    replicationFactor: 1,
  })
}
