/** Tokens that have asked lately; whose turn was longest ago is forgotten, and begins anew. */
const TOKENS_MAX = 10_000

interface Allowance {
  left: number
  atMs: number
}

/** Lets each access token ask so many times a second, and as many at once when it has asked nothing for a second. */
export class RequestLimit {
  readonly #perSecond: number
  readonly #allowances = new Map<string, Allowance>()

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Seconds until the token may ask again; 0 where it may now, which is then one question. */
  take(token: string, nowMs: number): number {
    const known = this.#allowances.get(token) ?? { left: this.#perSecond, atMs: nowMs }
    const left = Math.min(this.#perSecond, known.left + ((nowMs - known.atMs) / 1_000) * this.#perSecond)
    const isAllowed = left >= 1
    this.#allowances.delete(token)
    this.#allowances.set(token, { left: isAllowed ? left - 1 : left, atMs: nowMs })
    if (this.#allowances.size > TOKENS_MAX) this.#allowances.delete(this.#allowances.keys().next().value as string)
    return isAllowed ? 0 : (1 - left) / this.#perSecond
  }
}
