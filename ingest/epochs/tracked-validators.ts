import type { ClaimedValidators, FinalChain, RegistryWord, ValidatorIdentity } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { chainKey } from '../../schemas/chains.ts'
import { AppError } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { type ChainClock, epochOf } from '../../schemas/eth/time.ts'
import { decodeEvent, type EncodedEvent, encodeEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { IDENTIFIED_PER_EVENT_MAX, registryLookedAt, validatorsIdentified } from '../../schemas/events/validators.ts'
import { timeOfSlot } from '../beacon-head/block-events.ts'
import type { ChainLog } from '../cursor.ts'
import { ownEvents } from '../own-events.ts'
import { CREDENTIALS_BYTES, type PubkeyBook } from './pubkey-book.ts'
import { positionIn } from './registry-rows.ts'
import { TrackedKeys, tellPassedOver } from './tracked-keys.ts'

/** Nothing commits to a key's absence from the registry: who is not found is asked about again, so that one short answer does no harm. */
const IDENTIFYING_QUESTIONS = 2

const NO_CLAIMS: ClaimedValidators = { indices: new Uint32Array(0), pubkeys: new Uint8Array(0) }

/** The tracked validators of one moment. The arrays are the same objects as long as the set is the same. */
export interface TrackedSet {
  /** Public keys, known to the registry or not. */
  readonly pubkeys: Pick<PubkeyBook, 'size' | 'has' | 'indexOf' | typeof Symbol.iterator>
  /** Of those that the registry knows, ascending. */
  readonly indices: Uint32Array
}

/** What an epoch that is going to be published says of its validators' withdrawal credentials, as `BuiltEpoch` does. */
export interface HeldEpoch {
  readonly lastSlot: number
  readonly credentialTypes: Uint8Array | undefined
}

export interface TrackedValidatorsOptions extends ChainLog {
  readonly log: Log
  readonly clock: ChainClock
}

/**
 * Which validators of a chain the accounts track, have tracked or watch, and what the registry calls them: one that is nobody's
 * any more is followed all the same, since a correction may give it to somebody for days that have passed. Follows the
 * `accounts` topic; announces validators that it has found in the registry as `validator.identified`, and again where that turns out to be
 * otherwise. What a node says of them is held against the registry of states, once it was read, and again when withdrawal credentials change.
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
  /** Those whom the log does not name yet, or not as the registry has them, by their keys. */
  readonly #found = new Map<string, ValidatorIdentity>()
  /** Those who wait to be held by the newest registry have the keys that an earlier one has: only what their withdrawals go by may have changed since. */
  #areHeldByEarlier = false
  /** First bytes of withdrawal credentials after the last epoch that was computed of states; the rows are the first ones of the indices. */
  #types: { readonly indices: Uint32Array; readonly types: Uint8Array } | undefined

  private constructor(options: TrackedValidatorsOptions) {
    this.#options = options
    this.#keys = new TrackedKeys(options)
    this.#set = this.#snapshot()
  }

  static async open(options: TrackedValidatorsOptions, signal: AbortSignal): Promise<TrackedValidators> {
    const tracked = new TrackedValidators(options)
    await tracked.#keys.refresh(signal)
    const { pubkeys } = tracked.#keys
    for await (const { event } of ownEvents({ ...options, topic: 'validators', signal, oneByOne: true })) {
      if (event.type === registryLookedAt.name) tracked.#noteLook(event)
      if (event.type !== validatorsIdentified.name) continue
      const identified = unlessUndecodable(
        () => decodeEvent(validatorsIdentified, event, options.unnamedChain),
        (reason) => tellPassedOver(options, event.id, reason),
      )
      for (const { pubkey, index, withdrawalCredentials } of identified?.validators ?? [])
        if (pubkeys.has(pubkey)) pubkeys.identify({ pubkey, index, withdrawalCredentials })
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
    await this.#announceFound()
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

  /**
   * Makes sure, before an epoch is published, that its validators are who their keys say: where it was computed of states, by the registry of the
   * newest of them that the chain commits to. Announces then whom the log does not name yet; false while no registry was read, so that they wait.
   * Throws AppError `node_inconsistent` where a node had named another validator: the set is corrected, and the log with the next epoch.
   */
  async hold(final: FinalChain, { lastSlot, credentialTypes }: HeldEpoch): Promise<boolean> {
    if (credentialTypes !== undefined) {
      this.#doubtChanged(credentialTypes)
      const outcome = await this.#holdUnheld(final, lastSlot)
      if (outcome === 'corrected')
        throw new AppError('node_inconsistent', 'a node has said that validators are others than the registry says', {
          retryable: true,
        })
      if (outcome === 'unknown' && this.#found.size > 0) return false
    }
    await this.#announceFound()
    return true
  }

  /** Validators whose withdrawal credentials were of another type in the epoch before wait to be held again. */
  #doubtChanged(types: Uint8Array): void {
    const { indices } = this.#set
    const before = this.#types
    this.#types = { indices, types }
    if (before === undefined || (before.indices === indices && Buffer.compare(before.types, types) === 0)) return
    const changed = indices.filter((index, row) => {
      const at = positionIn(before.indices, index)
      return at !== undefined && at < before.types.length && row < types.length && before.types[at] !== types[row]
    })
    if (changed.length > 0) this.#keys.pubkeys.doubt(changed)
  }

  /**
   * Holds those who were not yet held against a registry of this slot or a later one, and corrects who turns out to be somebody else; `unknown`
   * where there is no such registry.
   */
  async #holdUnheld(final: FinalChain, fromSlot: number): Promise<'held' | 'corrected' | 'unknown'> {
    const { pubkeys } = this.#keys
    if (pubkeys.held === pubkeys.indexed) return 'held'
    const newest = await final.registered(NO_CLAIMS) // those of a million validators are 52 MB
    if (newest === undefined || newest.slot < fromSlot) return 'unknown'
    if (this.#areHeldByEarlier && newest.slot < this.#identifiedUpTo) return 'held'
    const { places, ...claims } = pubkeys.unheld()
    const word = await final.registered(claims)
    if (word === undefined || word.slot < fromSlot) return 'unknown'
    const contradicted = new Map(word.contradicted.map((claim) => [claim.place, claim]))
    // An earlier state than who is identified by may lack the last of them, and has credentials of before.
    const isNewest = word.slot >= this.#identifiedUpTo
    let isCorrected = false
    let isWhole = true
    for (let claim = 0; claim < places.length; claim++) {
      const [place, index] = [places[claim] as number, claims.indices[claim] as number]
      const wrong = contradicted.get(claim)
      if (wrong !== undefined && wrong.holder === undefined && !isNewest) isWhole = false
      else if (wrong !== undefined) {
        this.#correct(pubkeys.keyAt(place), index, wrong)
        isCorrected = true
      } else {
        const at = claim * CREDENTIALS_BYTES
        if (isNewest && !pubkeys.hasCredentials(place, word.credentials, at)) {
          const withdrawalCredentials = hexOf(word.credentials.subarray(at, at + CREDENTIALS_BYTES))
          this.#note({ index, pubkey: pubkeys.keyAt(place), withdrawalCredentials })
        }
        if (isNewest) pubkeys.hold(place)
      }
    }
    this.#areHeldByEarlier = isWhole && !isCorrected && !isNewest
    if (isCorrected) this.#set = this.#snapshot()
    return isCorrected ? 'corrected' : isWhole ? 'held' : 'unknown'
  }

  #correct(pubkey: string, index: number, { holder, right }: RegistryWord['contradicted'][number]): void {
    const { chain, log } = this.#options
    const whose = holder === undefined ? 'it has no such validator' : `that is ${holder.pubkey}`
    const who = right === undefined ? 'does not have the key' : `has the key as validator ${right.index}`
    log.error(
      { chain, pubkey, index, right: right?.index },
      `a node has said that ${pubkey} is validator ${index} of ${chain}: by the registry of a state ${whose}; the registry ${who}`,
    )
    const isInLog = !this.#found.delete(pubkey)
    this.#keys.pubkeys.forget(pubkey)
    if (right !== undefined) this.#note(right)
    // The log's later word counts: whoever reads it takes the index away from the key.
    if (isInLog && holder !== undefined) this.#found.set(holder.pubkey, holder)
  }

  /** Who a validator is, for the log to name it. */
  #note(identity: ValidatorIdentity): void {
    this.#keys.pubkeys.identify(identity)
    this.#areHeldByEarlier = false
    this.#found.set(identity.pubkey, identity)
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
      for (const identity of found) this.#note(identity)
    }
    this.#identifiedUpTo = slot
    if (this.#found.size > 0) await this.#holdUnheld(final, slot)
  }

  async #announceFound(): Promise<void> {
    if (this.#found.size === 0) return
    const { chain, clock, writer } = this.#options
    const slot = this.#identifiedUpTo
    const found = [...this.#found.values()].sort((a, b) => a.index - b.index)
    const time = timeOfSlot({ name: chain, clock }, slot)
    const events = []
    for (let from = 0; from < found.length; from += IDENTIFIED_PER_EVENT_MAX) {
      const validators = found.slice(from, from + IDENTIFIED_PER_EVENT_MAX)
      const id = `validator.identified:${chain}:${validators[0]?.index}:${epochOf(clock, slot)}`
      events.push(encodeEvent(validatorsIdentified, { id, key: chainKey(chain), time, data: { chain, validators } }))
    }
    await writer.append('validators', events)
    this.#found.clear()
  }
}
