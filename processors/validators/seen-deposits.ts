import type { DepositsTold } from './broadcast-faults.ts'

/** Which of a transaction's validators are deposited while it is in no block. */
export interface DepositedOtherwise {
  /** By whatever transaction: while there is one, it is not sent. */
  readonly pubkeys: readonly string[]
  /** Those of them whose deposit is not known to be its own. */
  readonly otherwise: readonly string[]
  /** And those with them that it has deposited itself as far as was ever seen, a reorg or not: while there is one, it was not replaced. */
  readonly ever: readonly string[]
  /** Those that another transaction has deposited, which nothing takes back. */
  readonly final: readonly string[]
}

/**
 * What was seen of deposits for the validators of one transaction: every look is at the newest blocks alone, and what is final stays.
 *
 * The registry takes in only what is final (electra, process_pending_deposits), but does not say by which transaction, and the node that
 * has the transaction in no block may be behind it. So what the registry has counts as another's only where a log of another tells of it,
 * and none of the transaction's own.
 */
export class SeenDeposits {
  readonly #final = new Set<string>()
  readonly #byOthers = new Set<string>()
  readonly #byItself = new Set<string>()

  add(told: DepositsTold, pubkeys: readonly string[]): DepositedOtherwise {
    for (const pubkey of told.byOthers) this.#byOthers.add(pubkey)
    for (const pubkey of told.byItself) this.#byItself.add(pubkey)
    for (const pubkey of told.finalByOthers) this.#final.add(pubkey)
    for (const pubkey of told.registered)
      if (this.#byOthers.has(pubkey) && !this.#byItself.has(pubkey)) this.#final.add(pubkey)
    const known = new Set([...told.registered, ...told.logged])
    const isFinal = (pubkey: string) => this.#final.has(pubkey)
    const deposited = pubkeys.filter((pubkey) => known.has(pubkey) || isFinal(pubkey))
    return {
      pubkeys: deposited,
      otherwise: deposited.filter((pubkey) => isFinal(pubkey) || !this.#byItself.has(pubkey)),
      ever: pubkeys.filter((pubkey) => deposited.includes(pubkey) || this.#byItself.has(pubkey)),
      final: pubkeys.filter(isFinal),
    }
  }
}
