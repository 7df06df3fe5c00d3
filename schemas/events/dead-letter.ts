import { type Static, Type } from 'typebox'
import { jsonEvent, olderJson } from './codec.ts'
import { Instant, UInt } from './fields.ts'

/** An event that could not be processed: where it lies, what it claimed to be, and why it was set aside. */
const DeadLetterFields = {
  topic: Type.String(),
  partition: UInt,
  offset: Type.String({ pattern: '^[0-9]+$' }),
  group: Type.String(),
  eventId: Type.String(),
  eventType: Type.String(),
  eventVersion: UInt,
  eventTime: Instant,
  reason: Type.String(),
}
const DeadLetterData = Type.Object({
  /** Empty where the event does not tell its chain. */
  chain: Type.String(),
  ...DeadLetterFields,
})
export type DeadLetterData = Static<typeof DeadLetterData>

/** id `dead-letter:<group>:<topic>:<partition>:<offset>`. */
export const deadLetter = jsonEvent({ name: 'dead-letter', version: 2, topic: 'dead-letters' }, DeadLetterData, {
  1: olderJson(Type.Object(DeadLetterFields), (data, chain) => ({ chain, ...data })),
})
