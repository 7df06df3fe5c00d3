import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Instant, UInt } from './fields.ts'

/** An event that could not be processed: where it lies, what it claimed to be, and why it was set aside. */
const DeadLetterData = Type.Object({
  topic: Type.String(),
  partition: UInt,
  offset: Type.String({ pattern: '^[0-9]+$' }),
  group: Type.String(),
  eventId: Type.String(),
  eventType: Type.String(),
  eventVersion: UInt,
  eventTime: Instant,
  reason: Type.String(),
})
export type DeadLetterData = Static<typeof DeadLetterData>

/** id `dead-letter:<group>:<topic>:<partition>:<offset>`. */
export const deadLetter = jsonEvent({ name: 'dead-letter', version: 1, topic: 'dead-letters' }, DeadLetterData)
