import type { TokenLimits } from './access-token.ts'
import { type DayNumber, parseDay } from './eth/time.ts'
import {
  feeRateSet,
  type SettlementCorrected,
  settlementCorrected,
  settlementsLocked,
  tokenCreated,
  tokenRevoked,
} from './events/accounts.ts'
import { decodeEvent, type EncodedEvent } from './events/codec.ts'
import { feeRecipientsTold } from './events/fee-recipients.ts'
import { orderExtended } from './events/orders.ts'
import { exitsPresigned } from './events/presigned-exits.ts'
import { type WebhookCreated, webhookCreated, webhookRevoked } from './events/webhooks.ts'
import { END_OF_DAYS, type Interval, Ownership, ownershipFact, storedDay } from './ownership.ts'

export interface RateFact {
  readonly account: string
  readonly rate: string
  /** Unix seconds. */
  readonly effectiveFromSec: number
  /** When it was said, by the operator's clock: ISO 8601. */
  readonly saidAt: string
}

export interface TokenFact extends TokenLimits {
  readonly account: string
  readonly tokenHash: string
  /** Empty where nobody has named it. */
  readonly name: string
  readonly createdAt: string
  readonly revokedAt?: string
}

export interface WebhookFact extends WebhookCreated {
  readonly createdAt: string
  readonly revokedAt?: string
}

export interface LockFact {
  readonly account: string
  /** Last locked day. */
  readonly through: DayNumber
  /** Whether it keeps what was settled as it was; one of an earlier release does not. */
  readonly keeps: boolean
  readonly saidAt: string
}

/** A signed exit of a validator that was handed out. */
export interface PresignedFact {
  /** Thumbprint of the key that opens it. */
  readonly recipient: string
  readonly saidAt: string
}

interface Recipient {
  readonly pubkey: string
  readonly address: string
}

/** An address at which a validator is paid, and the days that it holds for. */
export interface PaidAt extends Interval {
  readonly address: string
}

/** What operators have said of accounts: the events of the topic `accounts`, in the order of the log. */
export class AccountBook {
  readonly ownership = new Ownership()
  readonly #rates: RateFact[] = []
  readonly #tokens = new Map<string, TokenFact>()
  readonly #webhooks = new Map<string, WebhookFact>()
  readonly #locks: LockFact[] = []
  readonly #corrections: SettlementCorrected[] = []
  /** Whether it is paid at an address, by the chain and key of a validator, the address and the day since when. */
  readonly #recipients = new Map<string, Map<string, Map<DayNumber, boolean>>>()

  /** By the chain and key of a validator. */
  readonly #presigned = new Map<string, PresignedFact[]>()

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
        if (token === undefined) return
        // Its lists may be long, and hold for nobody any more.
        const { allow, ...left } = token
        this.#tokens.set(token.tokenHash, { ...left, revokedAt: event.time })
        return
      }
      case orderExtended.name: {
        const { orderId: id, until } = decodeEvent(orderExtended, event)
        const ofOrder = [...this.#tokens.values()].filter(({ order }) => order?.id === id)
        for (const token of ofOrder) this.#tokens.set(token.tokenHash, { ...token, order: { id, until } })
        return
      }
      case webhookCreated.name: {
        const webhook = decodeEvent(webhookCreated, event)
        this.#webhooks.set(webhook.webhookId, { ...webhook, createdAt: event.time })
        return
      }
      case webhookRevoked.name: {
        const webhook = this.#webhooks.get(decodeEvent(webhookRevoked, event).webhookId)
        if (webhook !== undefined) this.#webhooks.set(webhook.webhookId, { ...webhook, revokedAt: event.time })
        return
      }
      case feeRateSet.name: {
        const { account, rate, effectiveFrom } = decodeEvent(feeRateSet, event)
        const effectiveFromSec = Date.parse(effectiveFrom) / 1000
        this.#rates.push({ account, rate, effectiveFromSec, saidAt: event.time })
        return
      }
      case settlementsLocked.name: {
        const { account, through, lockId } = decodeEvent(settlementsLocked, event)
        this.#locks.push({ account, through: parseDay(through) ?? 0, keeps: lockId !== '', saidAt: event.time })
        return
      }
      case settlementCorrected.name:
        this.#corrections.push(decodeEvent(settlementCorrected, event))
        return
      case exitsPresigned.name: {
        const { chain, recipient, pubkeys } = decodeEvent(exitsPresigned, event)
        for (const pubkey of pubkeys) {
          const before = this.presignedOf(chain, pubkey)
          this.#presigned.set(`${chain}:${pubkey}`, [...before, { recipient, saidAt: event.time }])
        }
        return
      }
      case feeRecipientsTold.name: {
        const { chain, recipients, isOwn, from } = decodeEvent(feeRecipientsTold, event)
        for (const { pubkey, address } of recipients) {
          const ofKey = this.#recipientsOf(chain, pubkey)
          this.#recipients.set(`${chain}:${pubkey}`, ofKey)
          ofKey.set(address, (ofKey.get(address) ?? new Map()).set(storedDay(from), isOwn))
        }
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
    return [...new Set([...tokens, ...rates, ...this.ownership.accounts()])].sort()
  }

  /** In the order in which they were said: of two for one instant the later one counts. */
  ratesOf(account: string): readonly RateFact[] {
    return this.#rates.filter((fact) => fact.account === account)
  }

  /** Of facts for one instant the one that counts, by the instant. */
  ratesInForce(account: string): readonly RateFact[] {
    const byInstant = new Map(this.ratesOf(account).map((fact) => [fact.effectiveFromSec, fact]))
    return [...byInstant.values()].sort((a, b) => a.effectiveFromSec - b.effectiveFromSec)
  }

  /** When the account's next rate begins behind an instant; both Unix seconds. Undefined where none does. */
  nextRateSec(account: string, afterSec: number): number | undefined {
    return this.ratesInForce(account).find(({ effectiveFromSec }) => effectiveFromSec > afterSec)?.effectiveFromSec
  }

  /** Last day of the account's settlements that nothing may change; undefined where none is locked. */
  lockedThrough(account: string): DayNumber | undefined {
    return lastOf(this.#locks.filter((lock) => lock.account === account))
  }

  /** Last day of which the account's settlements are kept as they were; undefined where none is. */
  keptThrough(account: string): DayNumber | undefined {
    return lastOf(this.#locks.filter((lock) => lock.account === account && lock.keeps))
  }

  /** In the order in which they were said. */
  locks(): readonly LockFact[] {
    return this.#locks
  }

  /** In the order in which they were said, which is that of their numbers. */
  corrections(): readonly SettlementCorrected[] {
    return this.#corrections
  }

  /** The next day behind one that was named for a validator's address: what is told of that day reaches up to it. */
  nextRecipientDay(chain: string, { pubkey, address }: Recipient, day: DayNumber): DayNumber | undefined {
    const days = this.#recipientsOf(chain, pubkey).get(address)?.keys() ?? []
    const later = [...days].filter((one) => one > day)
    return later.length === 0 ? undefined : Math.min(...later)
  }

  /** Where a validator is paid on which days. */
  recipientsOf(chain: string, pubkey: string): readonly PaidAt[] {
    return [...this.#recipientsOf(chain, pubkey)].flatMap(([address, points]) => {
      const days = [...points].toSorted(([a], [b]) => a - b)
      const changes = days.filter(([, isOwn], at) => isOwn !== (days[at - 1]?.[1] ?? false))
      return changes.flatMap(([fromDay, isOwn], at) =>
        isOwn ? [{ address, fromDay, toDay: changes[at + 1]?.[0] ?? END_OF_DAYS }] : [],
      )
    })
  }

  /** In the order in which they were handed out, whoever had the validator then. */
  presignedOf(chain: string, pubkey: string): readonly PresignedFact[] {
    return this.#presigned.get(`${chain}:${pubkey}`) ?? []
  }

  tokens(): ReadonlyMap<string, TokenFact> {
    return this.#tokens
  }

  /** By their ids, in the order in which they were created; revoked ones too. */
  webhooks(): ReadonlyMap<string, WebhookFact> {
    return this.#webhooks
  }

  #recipientsOf(chain: string, pubkey: string): Map<string, Map<DayNumber, boolean>> {
    return this.#recipients.get(`${chain}:${pubkey}`) ?? new Map()
  }
}

function lastOf(locks: readonly LockFact[]): DayNumber | undefined {
  return locks.length === 0 ? undefined : locks.reduce((last, { through }) => Math.max(last, through), 0)
}
