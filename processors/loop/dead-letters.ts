import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { deadLetter } from '../../schemas/events/dead-letter.ts'
import { type TableRows, versionOf } from './rows.ts'

/** Rows of one event of `dead-letters`. */
export function deadLetterRows(stored: StoredEvent): readonly TableRows[] {
  const letter = decodeEvent(deadLetter, stored.event)
  return [
    {
      table: 'dead_letters',
      columns: {
        event_id: [letter.eventId],
        consumer_group: [letter.group],
        topic: [letter.topic],
        event_type: [letter.eventType],
        event_time: BigInt64Array.of(BigInt(Date.parse(letter.eventTime))),
        reason: [letter.reason],
        version: BigUint64Array.of(versionOf(stored.position)),
      },
    },
  ]
}
