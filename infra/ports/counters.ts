export interface Taken {
  /** False: the cost did not fit and nothing was taken. */
  readonly allowed: boolean
  /** What is left of the limit in the running window. */
  readonly remaining: number
  /** Milliseconds until the window ends and the whole limit is available again. */
  readonly resetMs: number
}

/**
 * Quotas and rate limits: fixed windows that all processes share.
 *
 * Guarantees: of concurrent takes never more than `limit` in one window succeed; a window starts with its first take.
 * Not promised: survival of short windows over a restart (windows of a minute and longer do survive).
 */
export interface Counters extends AsyncDisposable {
  /**
   * Takes `cost` from the limit of `key`'s window, all of it or nothing. `now` is the caller's clock, Unix milliseconds. When it rejects it may have
   * been done: with the same `once`, a name of this take alone, it is not done again, and answered as it was. That is known for a minute after
   * it was done in Redis, and of the last thousand takes elsewhere.
   */
  take(key: string, cost: number, limit: number, windowMs: number, now: number, once?: string): Promise<Taken>
  /**
   * Gives back what was taken from `key`'s window and not used; nothing where it has ended at `now`. When it rejects it may have
   * been done: whoever gives it again would give it twice.
   */
  giveBack(key: string, units: number, now: number): Promise<void>
  /** Rejects where the counters do not answer now. Absent where they are in this process. */
  ping?(): Promise<void>
}
