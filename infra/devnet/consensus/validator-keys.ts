import type { PubkeyCache } from '@lodestar/state-transition'
import { type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import type { Duties, Vote } from './duties.ts'
import { feeRecipientOf, pubkeyOf } from './keys.ts'

/** Who runs validators whose keys are not the devnet's own. What it answers for a slot that was made stays so: a replay asks again. */
export interface OutsideKeys {
  /** Whether the validator does its duties in a slot at all. */
  runs(pubkey: Hex, slot: number): boolean
  /** Whether it may sign a block of the slot, or a vote of the slot's epoch: both are kept from those that others may have signed. */
  maySignBlock(pubkey: Hex, slot: number): boolean
  maySignVote(pubkey: Hex, slot: number): boolean
  feeRecipient(pubkey: Hex, slot: number): Hex
  /** For who runs in this slot. */
  sign(pubkey: Hex, signingRoot: Uint8Array): Uint8Array
}

/** Whose a validator is: one of the devnet's numbers, or somebody's outside. */
export type Holder =
  | { readonly kind: 'devnet'; readonly number: number }
  | { readonly kind: 'outside'; readonly pubkey: Hex }

/** Numbers after those of genesis whose publicly known keys are the devnet's too: the scenario deposits for some, and tests for many. */
const NUMBERS_BEYOND_GENESIS = 1_024

/** The keys of all validators of the chain, by index. */
export class ValidatorKeys {
  readonly outside: OutsideKeys
  readonly #pubkeys: PubkeyCache
  readonly #genesisValidators: number
  readonly #holders = new Map<number, Holder>()
  #numbersBeyond: Map<Hex, number> | undefined

  constructor(pubkeys: PubkeyCache, genesisValidators: number, outside: OutsideKeys) {
    this.#pubkeys = pubkeys
    this.#genesisValidators = genesisValidators
    this.outside = outside
  }

  holderOf(index: number): Holder {
    const known = this.#holders.get(index)
    if (known !== undefined) return known
    const holder = this.#lookUp(index)
    this.#holders.set(index, holder)
    return holder
  }

  feeRecipient(index: number, slot: number): Hex {
    const holder = this.holderOf(index)
    return holder.kind === 'devnet' ? feeRecipientOf(holder.number) : this.outside.feeRecipient(holder.pubkey, slot)
  }

  /** Whether anybody can sign this validator's block of a slot. */
  maySignBlock(index: number, slot: number): boolean {
    const holder = this.holderOf(index)
    return holder.kind === 'devnet' || this.outside.maySignBlock(holder.pubkey, slot)
  }

  #lookUp(index: number): Holder {
    if (index < this.#genesisValidators) return { kind: 'devnet', number: index }
    const pubkey = hexOf(this.#pubkeys.getOrThrow(index).toBytes())
    const number = this.#beyond().get(pubkey)
    return number === undefined ? { kind: 'outside', pubkey } : { kind: 'devnet', number }
  }

  #beyond(): ReadonlyMap<Hex, number> {
    this.#numbersBeyond ??= new Map(
      Array.from({ length: NUMBERS_BEYOND_GENESIS }, (_, i) => {
        const number = this.#genesisValidators + i
        return [hexOf(pubkeyOf(number)), number]
      }),
    )
    return this.#numbersBeyond
  }
}

const NO_VOTE: Vote = { kind: 'none' }

/** The duties as they are done: what chance leaves to a validator, it does where somebody runs it. */
export function attended(duties: Duties, keys: ValidatorKeys): Duties {
  const { outside } = keys
  const isDone = (index: number, may: (pubkey: Hex) => boolean): boolean => {
    const holder = keys.holderOf(index)
    return holder.kind === 'devnet' || may(holder.pubkey)
  }
  return {
    proposes: (slot, validator) => duties.proposes(slot, validator) && keys.maySignBlock(validator, slot),
    votes(slot, attesters) {
      const votes = duties.votes(slot, attesters)
      const done = (position: number) => isDone(attesters[position] ?? 0, (pubkey) => outside.maySignVote(pubkey, slot))
      return votes.map((vote, position) => (done(position) ? vote : NO_VOTE))
    },
    syncParticipation: (slot, validators) =>
      duties
        .syncParticipation(slot, validators)
        .map((present, index) => present && isDone(index, (pubkey) => outside.runs(pubkey, slot))),
  }
}
