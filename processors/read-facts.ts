import type { EventLog } from '../infra/ports/event-log.ts'
import type { Log } from '../infra/ports/log.ts'
import { AppError } from '../schemas/errors.ts'
import { type EncodedEvent, type Topic, unlessUndecodable } from '../schemas/events/codec.ts'

export interface FactsReading {
  readonly eventLog: Pick<EventLog, 'read'>
  readonly topic: Topic
  /** Is told of what is passed over. */
  readonly log: Pick<Log, 'error'>
  readonly signal: AbortSignal
  /** Types of facts without which nothing may be decided. */
  readonly required: ReadonlySet<string>
  /** Throws AppError `undecodable` for a fact that is not what its type says, and has taken nothing of it then. */
  readonly add: (event: EncodedEvent) => void
}

/**
 * Reads the facts of a topic into the memory of whoever decides by them. One that cannot be read is passed over, so that it does not keep
 * everybody else waiting. Throws AppError `undecodable` for one of a required type.
 */
export async function readFacts({ eventLog, topic, log, signal, required, add }: FactsReading): Promise<void> {
  for await (const { event } of eventLog.read({ topic, signal })) {
    const { id, type } = event
    if (required.has(type)) readRequired(event, add)
    else
      unlessUndecodable(
        () => add(event),
        (reason) => log.error({ event: id, reason }, `the event ${id} cannot be read and is passed over: ${reason}`),
      )
  }
}

/** What `read` makes of a fact without which nothing may be decided. Throws AppError `undecodable`, which names it, where it cannot be read. */
export function readRequired<Value>(event: EncodedEvent, read: (event: EncodedEvent) => Value): Value {
  try {
    return read(event)
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'undecodable')) throw error
    throw new AppError(
      'undecodable',
      `The event ${event.id} cannot be read, and without it nothing is decided: ${error.message}. ` +
        'If a later release has written it, run that one.',
      { cause: error },
    )
  }
}
