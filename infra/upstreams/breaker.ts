/** So many of the last calls are looked at. */
const WINDOW = 20
/** Fewer say nothing. */
const CALLS_MIN = 5
const FAILED_SHARE_MAX = 0.5
const OPEN_MS = 30_000
/** Trials that have to succeed in a row before everybody is let through again. */
const SUCCESSES_TO_CLOSE = 3

/** Leaves an upstream alone for a while when calls to it fail, and then lets one at a time try. Times are of one monotonic clock. */
export class Breaker {
  /** 1 where a call failed; a ring. */
  readonly #failures = new Uint8Array(WINDOW)
  #calls = 0
  #failed = 0
  #isOpen = false
  #openUntilMs = 0
  #trials = 0
  #successes = 0

  /** Whether calls are kept from it, but for trials. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  allows(nowMs: number): boolean {
    return !this.#isOpen || (nowMs >= this.#openUntilMs && this.#trials === 0)
  }

  /** A call is sent, allowed or not; `end` tells how it went. */
  begin(): void {
    if (this.#isOpen) this.#trials++
  }

  end(isSuccess: boolean, nowMs: number): void {
    if (this.#isOpen) {
      this.#endTrial(isSuccess, nowMs)
      return
    }
    const place = this.#calls++ % WINDOW
    this.#failed += (isSuccess ? 0 : 1) - (this.#failures[place] ?? 0)
    this.#failures[place] = isSuccess ? 0 : 1
    const seen = Math.min(this.#calls, WINDOW)
    if (seen >= CALLS_MIN && this.#failed / seen >= FAILED_SHARE_MAX) this.#open(nowMs)
  }

  /** A call was given up by its client: it says nothing. */
  forget(): void {
    if (this.#isOpen) this.#trials = Math.max(0, this.#trials - 1)
  }

  /** Something else has shown that the upstream answers: a call may try at once. */
  endRest(nowMs: number): void {
    if (this.#isOpen) this.#openUntilMs = Math.min(this.#openUntilMs, nowMs)
  }

  #endTrial(isSuccess: boolean, nowMs: number): void {
    this.#trials = Math.max(0, this.#trials - 1)
    if (!isSuccess) this.#open(nowMs)
    else if (++this.#successes >= SUCCESSES_TO_CLOSE) this.#close()
  }

  #open(nowMs: number): void {
    this.#isOpen = true
    this.#openUntilMs = nowMs + OPEN_MS
    this.#successes = 0
  }

  #close(): void {
    this.#isOpen = false
    this.#trials = 0
    this.#failures.fill(0)
    this.#calls = 0
    this.#failed = 0
  }
}
