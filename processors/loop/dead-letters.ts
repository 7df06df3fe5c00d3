import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { deadLetter } from '../../schemas/events/dead-letter.ts'
import { type Projected, versionOf } from './rows.ts'

/** What one event of `dead-letters` becomes. */
export function projectDeadLetter(stored: StoredEvent): Projected {
  const letter = decodeEvent(deadLetter, stored.event)
  return {
    rows: [
      {
        table: 'dead_letters',
        columns: {
          chain: [letter.chain],
          event_id: [letter.eventId],
          consumer_group: [letter.group],
          topic: [letter.topic],
          event_type: [letter.eventType],
          event_time: BigInt64Array.of(BigInt(Date.parse(letter.eventTime))),
          reason: [letter.reason],
          version: BigUint64Array.of(versionOf(stored.position)),
        },
      },
    ],
  }
}
