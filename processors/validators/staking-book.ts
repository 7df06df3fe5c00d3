import type { EventLog, EventWriter } from '../../infra/ports/event-log.ts'
import { type EncodedEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { CreatedKeys } from './created-keys.ts'
import { CallsRead } from './exit/calls-read.ts'
import { ExitBook } from './exit/exit-book.ts'
import { SentStakings } from './sent-stakings.ts'
import { Turns } from './turns.ts'
import { MovedKeys } from './vault-keys.ts'

/**
 * What the log says of validators that were created here, in the memory of the role that alone says it. Each part takes the events that
 * are its own and passes over the others.
 */
export class StakingBook {
  readonly created = new CreatedKeys()
  readonly exits = new ExitBook()
  readonly calls = new CallsRead()
  readonly moved = new MovedKeys()
  readonly sent = new SentStakings()
  /** Between looking for what an account has created and telling of it nobody else does: by the account's name. */
  readonly turns = new Turns()

  /** Throws AppError `undecodable` for an event that is not what its type says. */
  add(event: EncodedEvent): void {
    this.created.add(event)
    this.exits.add(event)
    this.calls.add(event)
    this.moved.add(event)
    this.sent.add(event)
  }

  /** Tells the log, then remembers. */
  async tell(writer: EventWriter, events: readonly EncodedEvent[]): Promise<void> {
    await writer.append('accounts', events)
    for (const event of events) this.add(event)
  }
}

/** Reads the book from the log: by whoever has the lease to write it. What cannot be decoded is a dead letter of the processors. */
export async function readStakingBook(eventLog: EventLog, signal: AbortSignal): Promise<StakingBook> {
  const book = new StakingBook()
  for await (const { event } of eventLog.read({ topic: 'accounts', signal })) unlessUndecodable(() => book.add(event))
  return book
}
