import type { Log } from '../../infra/ports/log.ts'
import { isExpired } from '../../schemas/access-token.ts'
import { AppError } from '../../schemas/errors.ts'
import { lackOf } from '../http/chain-path.ts'
import type { KnownToken } from '../http/standings.ts'
import type { Keys } from './keys.ts'

/** Something that lasts longer than an answer, and the key that it was let in by. */
export interface Held {
  readonly tokenHash: string
  readonly chain: string
  /** The key is no longer good for it. */
  end(): void
  /** The service stops: what is under way may end before. */
  leave(): void
}

export interface HeldOpenParts {
  readonly accountsKnown: () => Promise<boolean>
  /** Unix milliseconds on the machine. */
  readonly wallNow: () => number
  readonly log: Log
}

/** With what a look may be late by, a revoked key holds nothing open for a second after the tables know of it. */
const LOOK_MS = 100

/** What a key must be for at a network, and that its order still runs at a time in Unix milliseconds; undefined where it may. */
export function lackAt(known: KnownToken, chain: string, nowMs: number): string | undefined {
  const lack = lackOf(known, { scope: 'read', family: 'gateway', chain })
  return lack ?? (isExpired(known, nowMs) ? 'the order of the token has expired' : undefined)
}

/** Looks at the keys of what is open again and again, for as long as anything is. */
export class HeldOpen {
  readonly #keys: Keys
  readonly #parts: HeldOpenParts
  readonly #held = new Set<Held>()
  /** Of the next look; undefined while there is none to come, and during one. */
  #timer: NodeJS.Timeout | undefined
  /** What comes meanwhile waits for its end: one that is let in during a look must not begin another row of them. */
  #isLooking = false
  /** Since the last look: it is said once. */
  #isUnknown = false

  constructor(keys: Keys, parts: HeldOpenParts) {
    this.#keys = keys
    this.#parts = parts
  }

  get size(): number {
    return this.#held.size
  }

  /** Until what it returns is called. */
  hold(held: Held): () => void {
    this.#held.add(held)
    this.#plan()
    return () => {
      this.#held.delete(held)
      if (this.#held.size > 0) return
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
  }

  leaveAll(): void {
    for (const held of this.#held) held.leave()
  }

  #plan(): void {
    if (this.#isLooking) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#isLooking = true
      this.#look()
        .then(
          () => {
            this.#isUnknown = false
          },
          (error: unknown) => this.#tellUnknown(error),
        )
        .finally(() => {
          this.#isLooking = false
          if (this.#held.size > 0) this.#plan()
        })
    }, LOOK_MS)
  }

  #tellUnknown(error: unknown): void {
    const why = error instanceof AppError ? { reason: error.message } : { err: error }
    if (!this.#isUnknown) this.#parts.log.error(why, 'the keys of open connections are not known')
    this.#isUnknown = true
  }

  async #look(): Promise<void> {
    const standing = await this.#keys.look()
    const nowMs = this.#parts.wallNow()
    const isBad = ({ tokenHash, chain }: Held): boolean => {
      const known = standing.tokenOf(tokenHash)
      return known === undefined || lackAt(known, chain, nowMs) !== undefined
    }
    const bad = [...this.#held].filter(isBad)
    // Tables that are being filled lack keys that are good.
    if (bad.length === 0 || !(await this.#parts.accountsKnown())) return
    for (const held of bad) held.end()
  }
}
