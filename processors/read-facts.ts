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
    unlessUndecodable(
      () => add(event),
      (reason) => {
        if (!required.has(type)) {
          log.error({ event: id, reason }, `the event ${id} cannot be read and is passed over: ${reason}`)
          return
        }
        throw new AppError(
          'undecodable',
          `The event ${id} cannot be read, and without it nothing is decided: ${reason}. If a later release has written it, run that one.`,
        )
      },
    )
  }
}
