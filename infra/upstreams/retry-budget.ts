/** What a call earns: where all upstreams fail, so many more requests are sent than calls come. */
const RETRIES_PER_CALL = 0.1
/** Saved up while nothing fails, and to begin with: a node that dies takes all calls with it that it has. */
const RETRIES_MAX = 50
/** Taken beside the retry itself where that fails, too: where all upstreams fail, what was saved is gone with the fourth. */
const COST_OF_FAILED = 12
/** Kept for calls that fail: what is merely slow is not asked again with these. */
const KEPT_FOR_FAILURES = 25
/** Calls at a time that are asked of another upstream for being slow: where all are silent, nobody knows it for half a minute. */
const HEDGES_AT_ONCE = 5

/** Bounds retries by calls: retries without a bound bring down the nodes that are left. */
export class RetryBudget {
  #left = RETRIES_MAX
  #hedges = 0

  earn(): void {
    this.#left = Math.min(RETRIES_MAX, this.#left + RETRIES_PER_CALL)
  }

  take(): boolean {
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }

  /** What was taken has not helped. */
  failed(): void {
    this.#left = Math.max(0, this.#left - COST_OF_FAILED)
  }

  /** For a call that has not failed, and is only slow, until `endSlow`. */
  takeForSlow(): boolean {
    if (this.#hedges >= HEDGES_AT_ONCE || this.#left <= KEPT_FOR_FAILURES || !this.take()) return false
    this.#hedges++
    return true
  }

  endSlow(): void {
    this.#hedges--
  }
}
