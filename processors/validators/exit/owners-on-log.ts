import type { EventLog } from '../../../infra/ports/event-log.ts'
import type { DayNumber } from '../../../schemas/eth/time.ts'
import { validatorsTracked, validatorsUntracked } from '../../../schemas/events/accounts.ts'
import { unlessUndecodable } from '../../../schemas/events/codec.ts'
import { Ownership, ownershipFact } from '../../../schemas/ownership.ts'
import { readRequired } from '../../read-facts.ts'
import { TopicReading } from '../topic-reading.ts'

/** Without one of them an account could exit a validator that is not its own any more: nothing is decided then. */
const REQUIRED: ReadonlySet<string> = new Set([validatorsTracked.name, validatorsUntracked.name])

/** Whose validators are, as the log tells it: commands say it too, so it is read on when somebody asks, and nothing twice. */
export class OwnersOnLog {
  readonly #ownership = new Ownership()
  readonly #reading: TopicReading

  constructor(eventLog: Pick<EventLog, 'read' | 'ends'>, signal: AbortSignal) {
    this.#reading = new TopicReading(eventLog, {
      topic: 'accounts',
      signal,
      add: (event) => {
        const fact = REQUIRED.has(event.type)
          ? readRequired(event, ownershipFact)
          : unlessUndecodable(() => ownershipFact(event))
        if (fact !== undefined) this.#ownership.add(fact)
      },
    })
  }

  /**
   * Those of the public keys that are not the account's on a day, by all that the log held at the call. Throws AppError `undecodable` where
   * the log tells of an owner what cannot be read.
   */
  async strangersTo(
    account: string,
    { chain, pubkeys }: { readonly chain: string; readonly pubkeys: readonly string[] },
    day: DayNumber,
  ): Promise<readonly string[]> {
    const owners = await this.ownersOf({ chain, pubkeys }, day)
    return pubkeys.filter((pubkey) => owners.get(pubkey) !== account)
  }

  /** Whose each of the public keys is on a day, by all that the log held at the call; nobody's are left out. Throws as `strangersTo`. */
  async ownersOf(
    { chain, pubkeys }: { readonly chain: string; readonly pubkeys: readonly string[] },
    day: DayNumber,
  ): Promise<ReadonlyMap<string, string>> {
    if (pubkeys.length === 0) return new Map()
    await this.#reading.readOn()
    const owners = new Map<string, string>()
    for (const pubkey of pubkeys) {
      const account = this.#ownership.ownerOn(chain, pubkey, day)
      if (account !== undefined) owners.set(pubkey, account)
    }
    return owners
  }
}
