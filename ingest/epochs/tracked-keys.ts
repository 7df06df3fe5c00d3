import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { unlessUndecodable } from '../../schemas/events/codec.ts'
import { ownershipFact } from '../../schemas/ownership.ts'
import { NewEvents } from '../new-events.ts'
import { PubkeyBook } from './pubkey-book.ts'

export interface TrackedKeysOptions {
  readonly eventLog: EventLog
  readonly chain: string
  /** The chain of events from before events named theirs. */
  readonly unnamedChain: string
  readonly log: Log
}

/**
 * Public keys of a chain that the accounts track, have tracked or watch, or that were made for them: follows the `accounts` topic when it is
 * asked to.
 */
export class TrackedKeys {
  readonly #options: TrackedKeysOptions
  readonly #pubkeys: PubkeyBook
  readonly #facts: NewEvents
  #factsThrough: bigint | undefined

  /** They are taken up in the book that is given. */
  constructor(options: TrackedKeysOptions, pubkeys = new PubkeyBook()) {
    this.#options = options
    this.#pubkeys = pubkeys
    this.#facts = new NewEvents(options.eventLog, 'accounts')
  }

  /** Always the same one, which grows. */
  get pubkeys(): PubkeyBook {
    return this.#pubkeys
  }

  /** Offset of the newest fact about the chain's validators that was taken up; all facts lie in one partition. Undefined while there is none. */
  get factsThrough(): bigint | undefined {
    return this.#factsThrough
  }

  /** Takes up what accounts have come to track since the last call; true when it was something. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const { chain, unnamedChain, log } = this.#options
    const before = this.#pubkeys.size
    for await (const { event, position } of this.#facts.read(signal)) {
      const fact = unlessUndecodable(
        () => ownershipFact(event, unnamedChain),
        (reason) => tellPassedOver({ chain, log }, event.id, reason),
      )
      if (fact?.chain !== chain) continue
      for (const pubkey of fact.pubkeys) this.#pubkeys.add(pubkey)
      this.#factsThrough = position.offset
    }
    return this.#pubkeys.size !== before
  }
}

export function tellPassedOver(
  { chain, log }: Pick<TrackedKeysOptions, 'chain' | 'log'>,
  event: string,
  reason: string,
): void {
  log.error({ chain, event, reason }, `the event ${event} cannot be read and is passed over: ${reason}`)
}
