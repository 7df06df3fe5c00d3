/** What a call earns: where all upstreams fail, so many more requests are sent than calls come. */
const RETRIES_PER_CALL = 0.15
/** Saved up while nothing fails: a node that dies takes all calls with it that it has. */
const RETRIES_MAX = 50
/** Kept for calls that fail: what is merely slow is not asked again with these. */
const KEPT_FOR_FAILURES = 25
/** A network that is hardly used may retry, too. */
const RETRIES_FIRST = 5

/** Bounds retries by calls: retries without a bound bring down the nodes that are left. */
export class RetryBudget {
  #left = RETRIES_FIRST

  earn(): void {
    this.#left = Math.min(RETRIES_MAX, this.#left + RETRIES_PER_CALL)
  }

  take(): boolean {
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  /** For a call that has not failed, and is only slow. */
  takeForSlow(): boolean {
    return this.#left > KEPT_FOR_FAILURES && this.take()
  }
}
