import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { withdrawalAddress } from '../../schemas/eth/withdrawal-credentials.ts'
import { chainOfEvent } from '../../schemas/events/chain-of-event.ts'
import { decodeEvent, type EncodedEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'
import { ownershipFact } from '../../schemas/ownership.ts'
import { tellPassedOver } from '../epochs/tracked-keys.ts'
import { NewEvents } from '../new-events.ts'

export interface PayeeOptions {
  readonly eventLog: EventLog
  readonly chain: string
  /** The chain of events from before events named theirs. */
  readonly unnamedChain: string
  readonly log: Log
}

/** A builder pays one address: who was told at more is asked about at the newest of them. */
const ADDRESSES_MAX = 8
/** How old what is known of validators may be: the head asks with every block. */
const FRESH_MS = 5_000

/**
 * At which addresses tracked validators may be paid, of whichever day: those that the operator told, the one that was given when they
 * were created, and their withdrawal address. Follows the topics `accounts` and `validators`.
 */
export class PayeeAddresses {
  readonly #options: PayeeOptions
  readonly #accounts: NewEvents
  readonly #identities: NewEvents
  readonly #tracked = new Set<string>()
  readonly #pubkeyOf = new Map<number, string>()
  readonly #addressesOf = new Map<string, Set<string>>()
  #refreshing: Promise<void> | undefined
  #freshUntilMs = Number.NEGATIVE_INFINITY

  constructor(options: PayeeOptions) {
    this.#options = options
    this.#accounts = new NewEvents(options.eventLog, 'accounts')
    this.#identities = new NewEvents(options.eventLog, 'validators')
  }

  /** Newest last; undefined where the proposer is not tracked, as far as the log knows it. */
  async of(proposerIndex: number): Promise<readonly string[] | undefined> {
    if (performance.now() >= this.#freshUntilMs) await this.#refreshOnce()
    const pubkey = this.#pubkeyOf.get(proposerIndex)
    if (pubkey === undefined || !this.#tracked.has(pubkey)) return undefined
    return [...(this.#addressesOf.get(pubkey) ?? [])].slice(-ADDRESSES_MAX)
  }

  /** Blocks are read side by side: they wait for one reading of the log. */
  #refreshOnce(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  async #refresh(): Promise<void> {
    const never = new AbortController().signal
    for await (const { event } of this.#identities.read(never)) this.#guarded(event, () => this.#takeIdentities(event))
    for await (const { event } of this.#accounts.read(never)) this.#guarded(event, () => this.#takeFact(event))
    this.#freshUntilMs = performance.now() + FRESH_MS
  }

  #guarded(event: EncodedEvent, take: () => void): void {
    unlessUndecodable(take, (reason) => tellPassedOver(this.#options, event.id, reason))
  }

  #takeIdentities(event: EncodedEvent): void {
    const { chain, unnamedChain } = this.#options
    if (event.type !== validatorsIdentified.name || chainOfEvent(event, unnamedChain) !== chain) return
    for (const { index, pubkey, withdrawalCredentials } of decodeEvent(validatorsIdentified, event, unnamedChain)
      .validators) {
      this.#pubkeyOf.set(index, pubkey)
      const address = withdrawalAddress(withdrawalCredentials)
      if (address !== undefined) this.#add(pubkey, address)
    }
  }

  #takeFact(event: EncodedEvent): void {
    const { chain, unnamedChain } = this.#options
    if (event.type === feeRecipientsTold.name) {
      const told = decodeEvent(feeRecipientsTold, event)
      if (told.chain === chain) for (const { pubkey, address } of told.recipients) this.#add(pubkey, address)
      return
    }
    const fact = ownershipFact(event, unnamedChain)
    if (fact?.chain !== chain) return
    for (const pubkey of fact.pubkeys) this.#tracked.add(pubkey)
    if (event.type !== validatorsCreated.name) return
    const { pubkeys, feeRecipient } = decodeEvent(validatorsCreated, event)
    for (const pubkey of pubkeys) this.#add(pubkey, feeRecipient)
  }

  /** What was told again is the newest. */
  #add(pubkey: string, address: string): void {
    const addresses = this.#addressesOf.get(pubkey) ?? new Set()
    addresses.delete(address)
    this.#addressesOf.set(pubkey, addresses.add(address))
  }
}
