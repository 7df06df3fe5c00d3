import type { BeaconChain, BeaconSource, ValidatorIdentity } from '../../infra/ports/beacon-source.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { formatInstant, slotTimeSec } from '../../schemas/eth/time.ts'
import { validatorsTracked } from '../../schemas/events/accounts.ts'
import { decodeEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { IDENTIFIED_PER_EVENT_MAX, VALIDATORS_KEY, validatorsIdentified } from '../../schemas/events/validators.ts'

/** The tracked validators of one moment. The arrays are the same objects as long as the set is the same. */
export interface TrackedSet {
  /** Public keys, known to the registry or not. */
  readonly pubkeys: ReadonlySet<string>
  readonly indexOf: ReadonlyMap<string, number>
  /** Of those that the registry knows, ascending. */
  readonly indices: Uint32Array
}

/** Group that never consumes: its lag is the length of the topic, which tells cheaply whether there is something to read. */
const LENGTH_GROUP = 'ingest-never-consumes'

/**
 * Which validators the accounts track, and what the registry calls them. Follows the `accounts` topic; announces validators
 * that it has found in the registry as `validator.identified`, once per log.
 */
export class TrackedValidators {
  readonly #beacon: BeaconSource
  readonly #eventLog: EventLog
  readonly #chain: BeaconChain
  readonly #pubkeys = new Set<string>()
  readonly #indexOf = new Map<string, number>()
  readonly #seenOffset = new Map<number, bigint>()
  #seenEvents = -1n
  /** Every tracked validator that is in the registry after this slot is identified. */
  #identifiedUpTo = -1
  #set: TrackedSet

  private constructor(beacon: BeaconSource, eventLog: EventLog, chain: BeaconChain) {
    this.#beacon = beacon
    this.#eventLog = eventLog
    this.#chain = chain
    this.#set = this.#snapshot()
  }

  static async open(
    options: { readonly beacon: BeaconSource; readonly eventLog: EventLog; readonly chain: BeaconChain },
    signal: AbortSignal,
  ): Promise<TrackedValidators> {
    const tracked = new TrackedValidators(options.beacon, options.eventLog, options.chain)
    for await (const { event } of options.eventLog.read({ topic: 'validators', signal })) {
      if (event.type !== validatorsIdentified.name) continue
      for (const { pubkey, index } of decodeEvent(validatorsIdentified, event).validators) {
        tracked.#indexOf.set(pubkey, index)
      }
    }
    return tracked
  }

  /** The set as the accounts have it now, complete for the registry after `slot`, which must be final. */
  async refresh(slot: number, signal: AbortSignal): Promise<TrackedSet> {
    const changed = await this.#readAccounts(signal)
    if (changed || slot > this.#identifiedUpTo) await this.#identify(Math.max(slot, this.#identifiedUpTo))
    if (changed || this.#set.indices.length !== this.#identified()) this.#set = this.#snapshot()
    return this.#set
  }

  #identified(): number {
    let count = 0
    for (const pubkey of this.#pubkeys) if (this.#indexOf.has(pubkey)) count++
    return count
  }

  #snapshot(): TrackedSet {
    const indices = new Uint32Array(this.#identified())
    let at = 0
    for (const pubkey of this.#pubkeys) {
      const index = this.#indexOf.get(pubkey)
      if (index !== undefined) indices[at++] = index
    }
    return { pubkeys: this.#pubkeys, indexOf: this.#indexOf, indices: indices.sort() }
  }

  async #readAccounts(signal: AbortSignal): Promise<boolean> {
    const events = await this.#eventLog.lag('accounts', LENGTH_GROUP)
    if (events === this.#seenEvents) return false
    const before = this.#pubkeys.size
    for await (const { position, event } of this.#eventLog.read({ topic: 'accounts', signal })) {
      if (position.offset <= (this.#seenOffset.get(position.partition) ?? -1n)) continue
      this.#seenOffset.set(position.partition, position.offset)
      if (event.type !== validatorsTracked.name) continue
      for (const pubkey of decodeEvent(validatorsTracked, event).pubkeys) this.#pubkeys.add(pubkey)
    }
    this.#seenEvents = events
    return this.#pubkeys.size !== before
  }

  async #identify(slot: number): Promise<void> {
    const unknown = [...this.#pubkeys].filter((pubkey) => !this.#indexOf.has(pubkey))
    const found = unknown.length === 0 ? [] : await this.#beacon.identify(slot, unknown)
    await this.#announce(found, slot)
    for (const { pubkey, index } of found) this.#indexOf.set(pubkey, index)
    this.#identifiedUpTo = slot
  }

  async #announce(found: readonly ValidatorIdentity[], slot: number): Promise<void> {
    const epoch = Math.floor(slot / this.#chain.clock.slotsPerEpoch)
    const time = formatInstant(slotTimeSec(this.#chain.clock, slot))
    const events = []
    for (let from = 0; from < found.length; from += IDENTIFIED_PER_EVENT_MAX) {
      const validators = found.slice(from, from + IDENTIFIED_PER_EVENT_MAX)
      const id = `validator.identified:${validators[0]?.index}:${epoch}`
      events.push(encodeEvent(validatorsIdentified, { id, key: VALIDATORS_KEY, time, data: { validators } }))
    }
    await this.#eventLog.append('validators', events)
  }
}
