import { feeRateSet, tokenCreated, tokenRevoked } from './events/accounts.ts'
import { decodeEvent, type EncodedEvent } from './events/codec.ts'
import { Ownership, ownershipFact } from './ownership.ts'

export interface RateFact {
  readonly account: string
  readonly rate: string
  /** Unix seconds. */
  readonly effectiveFromSec: number
  /** When it was said, by the operator's clock: ISO 8601. */
  readonly saidAt: string
}

export interface TokenFact {
  readonly account: string
  readonly tokenHash: string
  readonly createdAt: string
  readonly revokedAt?: string
}

/** What operators have said of accounts: the events of the topic `accounts`, in the order of the log. */
export class AccountBook {
  readonly ownership = new Ownership()
  readonly #rates: RateFact[] = []
  readonly #tokens = new Map<string, TokenFact>()

  /** Throws AppError `undecodable` for an event that is not what its type says; events of unknown types are passed over. */
  add(event: EncodedEvent, unnamedChain?: string): void {
    switch (event.type) {
      case tokenCreated.name: {
        const token = decodeEvent(tokenCreated, event)
        this.#tokens.set(token.tokenHash, { ...token, createdAt: event.time })
        return
      }
      case tokenRevoked.name: {
        const token = this.#tokens.get(decodeEvent(tokenRevoked, event).tokenHash)
        if (token !== undefined) this.#tokens.set(token.tokenHash, { ...token, revokedAt: event.time })
        return
      }
      case feeRateSet.name: {
        const { account, rate, effectiveFrom } = decodeEvent(feeRateSet, event)
        const effectiveFromSec = Date.parse(effectiveFrom) / 1000
        this.#rates.push({ account, rate, effectiveFromSec, saidAt: event.time })
        return
      }
      default: {
        const fact = ownershipFact(event, unnamedChain)
        if (fact !== undefined) this.ownership.add(fact)
      }
    }
  }

  /** Every account that was ever named, in order of name. */
  accounts(): readonly string[] {
    const tokens = [...this.#tokens.values()].map(({ account }) => account)
    const rates = this.#rates.map(({ account }) => account)
    return [...new Set([...tokens, ...rates, ...this.ownership.accounts().keys()])].sort()
  }

  /** In the order in which they were said: of two for one instant the later one counts. */
  ratesOf(account: string): readonly RateFact[] {
    return this.#rates.filter((fact) => fact.account === account)
  }

  tokens(): ReadonlyMap<string, TokenFact> {
    return this.#tokens
  }
}
