import type { FinalChain, ValidatorIdentity } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { chainKey } from '../../schemas/chains.ts'
import { type ChainClock, epochOf } from '../../schemas/eth/time.ts'
import { decodeEvent, type EncodedEvent, encodeEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { IDENTIFIED_PER_EVENT_MAX, registryLookedAt, validatorsIdentified } from '../../schemas/events/validators.ts'
import { timeOfSlot } from '../beacon-head/block-events.ts'
import type { ChainLog } from '../cursor.ts'
import { ownEvents } from '../own-events.ts'
import type { PubkeyBook } from './pubkey-book.ts'
import { TrackedKeys, tellPassedOver } from './tracked-keys.ts'

/** Nothing commits to a key's absence from the registry: who is not found is asked about again, so that one short answer does no harm. */
const IDENTIFYING_QUESTIONS = 2

/** The tracked validators of one moment. The arrays are the same objects as long as the set is the same. */
export interface TrackedSet {
  /** Public keys, known to the registry or not. */
  readonly pubkeys: Pick<PubkeyBook, 'size' | 'has' | 'indexOf' | typeof Symbol.iterator>
  /** Of those that the registry knows, ascending. */
  readonly indices: Uint32Array
}

export interface TrackedValidatorsOptions extends ChainLog {
  readonly log: Log
  readonly clock: ChainClock
}

/**
 * Which validators of a chain the accounts track, have tracked or watch, and what the registry calls them: one that is nobody's
 * any more is followed all the same, since a correction may give it to somebody for days that have passed. Follows the
 * `accounts` topic; announces validators that it has found in the registry as `validator.identified`, once per log.
 */
export class TrackedValidators {
  readonly #options: TrackedValidatorsOptions
  readonly #keys: TrackedKeys
  /** Every tracked validator that is in the registry after this slot is identified. */
  #identifiedUpTo = -1
  /** Offsets of the newest account facts whose validators the log is told to have been looked for, and to be told with epochs. */
  #toldLooked = -1n
  #toldEpochs = -1n
  #set: TrackedSet

  private constructor(options: TrackedValidatorsOptions) {
    this.#options = options
    this.#keys = new TrackedKeys(options)
    this.#set = this.#snapshot()
  }

  static async open(options: TrackedValidatorsOptions, signal: AbortSignal): Promise<TrackedValidators> {
    const tracked = new TrackedValidators(options)
    await tracked.#keys.refresh(signal)
    const { pubkeys } = tracked.#keys
    for await (const { event } of ownEvents({ ...options, topic: 'validators', signal })) {
      if (event.type === registryLookedAt.name) tracked.#noteLook(event)
      if (event.type !== validatorsIdentified.name) continue
      const identified = unlessUndecodable(
        () => decodeEvent(validatorsIdentified, event, options.unnamedChain),
        (reason) => tellPassedOver(options, event.id, reason),
      )
      for (const { pubkey, index } of identified?.validators ?? [])
        if (pubkeys.has(pubkey)) pubkeys.setIndex(pubkey, index)
    }
    tracked.#set = tracked.#snapshot()
    return tracked
  }

  /** The set as the accounts have it now, complete for the registry after a slot of the final chain. */
  async refresh(final: FinalChain, slot: number, signal: AbortSignal): Promise<TrackedSet> {
    const changed = await this.#keys.refresh(signal)
    if (changed || slot > this.#identifiedUpTo) await this.#identify(final, Math.max(slot, this.#identifiedUpTo))
    if (changed || this.#set.indices.length !== this.#keys.pubkeys.indexed) this.#set = this.#snapshot()
    return this.#set
  }

  /**
   * Tells the log, once of the same account facts, that all validators they name have been looked for: the set of the last refresh, with which
   * epochs are told from this one on, where it is known.
   */
  async tellLook(fromEpoch: number | null): Promise<void> {
    const { chain, clock, writer } = this.#options
    const through = this.#keys.factsThrough
    if (through === undefined || through <= (fromEpoch === null ? this.#toldLooked : this.#toldEpochs)) return
    const id = `${registryLookedAt.name}:${chain}:${through}:${fromEpoch ?? 'none'}`
    const time = timeOfSlot({ name: chain, clock }, this.#identifiedUpTo)
    const data = { chain, accountsThrough: `${through}`, fromEpoch }
    await writer.append('validators', [encodeEvent(registryLookedAt, { id, key: chainKey(chain), time, data })])
    this.#noteTold(through, fromEpoch)
  }

  #noteLook(event: EncodedEvent): void {
    const look = unlessUndecodable(
      () => decodeEvent(registryLookedAt, event),
      (reason) => tellPassedOver(this.#options, event.id, reason),
    )
    if (look !== undefined) this.#noteTold(BigInt(look.accountsThrough), look.fromEpoch)
  }

  #noteTold(through: bigint, fromEpoch: number | null): void {
    if (through > this.#toldLooked) this.#toldLooked = through
    if (fromEpoch !== null && through > this.#toldEpochs) this.#toldEpochs = through
  }

  #snapshot(): TrackedSet {
    const { pubkeys } = this.#keys
    return { pubkeys, indices: pubkeys.indices() }
  }

  async #identify(final: FinalChain, slot: number): Promise<void> {
    const { pubkeys } = this.#keys
    for (let asked = 0; asked < IDENTIFYING_QUESTIONS; asked++) {
      const unknown = pubkeys.unknown()
      const found = unknown.length === 0 ? [] : await final.identify(slot, unknown)
      if (asked > 0 && found.length > 0) {
        const { chain, log } = this.#options
        log.warn(
          { chain },
          `a node did not know ${found.length} tracked validators that are in the registry: asked again`,
        )
      }
      await this.#announce(found, slot)
      for (const { pubkey, index } of found) pubkeys.setIndex(pubkey, index)
    }
    this.#identifiedUpTo = slot
  }

  async #announce(found: readonly ValidatorIdentity[], slot: number): Promise<void> {
    const { chain, clock, writer } = this.#options
    const time = timeOfSlot({ name: chain, clock }, slot)
    const events = []
    for (let from = 0; from < found.length; from += IDENTIFIED_PER_EVENT_MAX) {
      const validators = found.slice(from, from + IDENTIFIED_PER_EVENT_MAX)
      const id = `validator.identified:${chain}:${validators[0]?.index}:${epochOf(clock, slot)}`
      events.push(encodeEvent(validatorsIdentified, { id, key: chainKey(chain), time, data: { chain, validators } }))
    }
    if (events.length > 0) await writer.append('validators', events)
  }
}
