import type { EventLog, EventWriter } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { exitCallRead } from '../../schemas/events/exit-calls.ts'
import { exitCancelled } from '../../schemas/events/exits.ts'
import { stakingBroadcast } from '../../schemas/events/staking-broadcast.ts'
import { keysAssigned, keysExported, keysTaken } from '../../schemas/events/vault-keys.ts'
import { readFacts } from '../read-facts.ts'
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

/**
 * What nothing is decided without: without a broadcast other transactions would deposit for the same validators, without a cancelling or
 * a call that was taken an exit would be signed that nobody wants any more, and without what became of a key two clients would have it.
 * Without another fact less is done, or something again that comes to the same.
 */
const REQUIRED: ReadonlySet<string> = new Set([
  stakingBroadcast.name,
  exitCancelled.name,
  exitCallRead.name,
  keysExported.name,
  keysAssigned.name,
  keysTaken.name,
])

/**
 * Reads the book from the log: by whoever has the lease to write it. Other facts that cannot be decoded are dead letters of the
 * processors, and `log` is told of them. Throws AppError `undecodable` for one that nothing is decided without.
 */
export async function readStakingBook(
  eventLog: Pick<EventLog, 'read'>,
  log: Pick<Log, 'error'>,
  signal: AbortSignal,
): Promise<StakingBook> {
  const book = new StakingBook()
  const add = (event: EncodedEvent) => book.add(event)
  await readFacts({ eventLog, topic: 'accounts', log, signal, required: REQUIRED, add })
  return book
}
