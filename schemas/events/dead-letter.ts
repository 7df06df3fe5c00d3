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
  /** 1970-01-01 where the event does not tell it. */
  eventTime: Instant,
  reason: Type.String(),
}
const DeadLetterData = Type.Object({
  /** Empty where the event does not tell its chain. */
  chain: Type.String(),
  ...DeadLetterFields,
})
/** Of a message that none of our writers has made: it has no type of ours, so nothing can be missing because of it. */
export const NO_TYPE = ''
export type DeadLetterData = Static<typeof DeadLetterData>

/**
 * Key is the topic; id `dead-letter:<group>:<topic>:<partition>:<offset>`. `eventId` is `<topic>/<partition>/<offset>` where the
 * event has none.
 */
export const deadLetter = jsonEvent({ name: 'dead-letter', version: 2, topic: 'dead-letters' }, DeadLetterData, {
  1: olderJson(Type.Object(DeadLetterFields), (data, chain) => ({ chain, ...data })),
})

const DeadLetterResolvedData = Type.Object({
  chain: Type.String(),
  topic: Type.String(),
  group: Type.String(),
  eventId: Type.String(),
  partition: UInt,
  offset: Type.String({ pattern: '^[0-9]+$' }),
})

/**
 * An event of an id that was set aside could be processed after all: the same one by another release, or a later one that says it
 * again. Partition and offset are its own. Key is the topic; id `dead-letter.resolved:<group>:<topic>:<partition>:<offset>`.
 */
export const deadLetterResolved = jsonEvent(
  { name: 'dead-letter.resolved', version: 1, topic: 'dead-letters' },
  DeadLetterResolvedData,
)
