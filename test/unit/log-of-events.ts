import type { EventLog, EventWriter } from '../../infra/ports/event-log.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'

/** A topic of one partition with the events of a list that may grow, as who reads it on needs it. */
export function logOfEvents(events: readonly EncodedEvent[]): Pick<EventLog, 'read' | 'ends'> {
  return {
    ends: async () => new Map(events.length === 0 ? [] : [[0, BigInt(events.length)]]),
    async *read({ from = new Map() }) {
      for (const [offset, event] of events.entries())
        if (BigInt(offset) >= (from.get(0) ?? 0n))
          yield { event, position: { topic: 'accounts', partition: 0, offset: BigInt(offset) } }
    },
  }
}

/** Appends to such a list. `onAppend` is called before and after it, and throws where the process dies. */
export function writerOfEvents(
  events: EncodedEvent[],
  onAppend: (moment: 'before' | 'after') => void = () => undefined,
): EventWriter {
  return {
    append: async (_, appended) => {
      onAppend('before')
      events.push(...appended)
      onAppend('after')
      return []
    },
  }
}
