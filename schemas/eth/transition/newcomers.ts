import { hexOf } from '../hex.ts'
import type { StateColumns, StateDeposit } from './state-columns.ts'

export interface NewcomersParts {
  readonly before: StateColumns
  readonly after: StateColumns
  /** All deposits that the epoch may credit, of the queue and of blocks. */
  readonly deposits: readonly StateDeposit[]
  /** Whether its own key has signed a deposit (consensus-specs, is_valid_deposit_signature). */
  readonly isSigned: (deposit: StateDeposit) => boolean
}

/**
 * Which validator a deposit is credited to. One for a known public key needs no signature; of several for a new one the first that the key
 * has signed makes the validator, and later ones add to it. Where the registry has the key afterwards and there is one deposit for it, it is that
 * one. Asked in the order in which the chain handles deposits.
 */
export class Newcomers {
  readonly #parts: NewcomersParts
  readonly #made = new Set<number>()
  /** New public keys that several deposits name. */
  readonly #contested: ReadonlySet<string>

  constructor(parts: NewcomersParts) {
    this.#parts = parts
    this.#contested = repeated(parts.deposits.filter((deposit) => this.#isNew(deposit)))
  }

  /** Undefined: the deposit is dropped, and its money is lost. */
  creditedTo(deposit: StateDeposit): number | undefined {
    const index = this.#parts.after.indexOf(deposit.pubkey)
    if (index === undefined || !this.#isNew(deposit) || this.#made.has(index)) return index
    if (this.#contested.has(hexOf(deposit.pubkey)) && !this.#parts.isSigned(deposit)) return undefined
    this.#made.add(index)
    return index
  }

  /** Validators so far: nobody comes but by a deposit that was credited. */
  get registrySize(): number {
    return this.#parts.before.validators + this.#made.size
  }

  #isNew({ pubkey }: StateDeposit): boolean {
    const index = this.#parts.after.indexOf(pubkey)
    return index !== undefined && index >= this.#parts.before.validators
  }
}

function repeated(deposits: readonly StateDeposit[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const again = new Set<string>()
  for (const { pubkey } of deposits) {
    const key = hexOf(pubkey)
    if (seen.has(key)) again.add(key)
    seen.add(key)
  }
  return again
}
