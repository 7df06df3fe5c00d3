export type JobState =
  | { readonly status: 'unknown' }
  /** `reason`: why its last attempt failed, if one has. */
  | { readonly status: 'waiting' | 'active'; readonly reason?: string }
  | { readonly status: 'completed'; readonly output: unknown }
  | { readonly status: 'failed'; readonly reason: string }

/** What `add` found: one id is one job, for ever or until it is forgotten. */
export type AddedJob = { readonly status: 'added' } | { readonly status: 'duplicate'; readonly existing: JobState }

export interface AddOptions {
  readonly keepMs?: number
}

export interface WorkOptions {
  readonly name: string
  readonly concurrency: number
  readonly signal: AbortSignal
  /**
   * Resolves with the job's output; rejects = tried again after growing pauses. Must be repeatable. An added job is tried
   * `attemptsMax` times in all, a requested one for as long as it takes: then its output is thrown away.
   */
  handle(job: { readonly id: string; readonly input: unknown; readonly attempt: number }): Promise<unknown>
}

/**
 * Work that must happen once it was accepted, by whichever process has time. Inputs and outputs are JSON values.
 *
 * There are two kinds. An added job happens once per id: a client's request. A requested job happens as often as it
 * is wanted: a day's figures, derived again whenever something that they are derived from has changed.
 *
 * Guarantees of both: what was accepted survives a crash; it is handled at least once; a job whose worker died is handed to
 * another one after the lease. Two workers never have one job at the same time, in no process, unless one of them has been
 * silent for a whole lease and was taken for dead.
 * Not promised: order, exactly once.
 */
export interface JobQueue extends AsyncDisposable {
  /**
   * Without `keepMs` the job and its result are kept for ever, because one id is one job for ever. With it they stay for at least so long
   * after the job's end, and are forgotten (`unknown`) when a later job of the name ends likewise (completed, failed). A name's added jobs
   * have one `keepMs`: some queues forget all of a name together.
   */
  add(name: string, id: string, input: unknown, options?: AddOptions): Promise<AddedJob>
  /**
   * Wants a run of `id` that starts after this call. Asked again before the run has started, it is still one run, with the
   * newest input, and not later than before; asked during a run, there is one more after it; asked after the end, another.
   * It starts at the earliest `delayMs` (0) after the first request that it answers; the second run of two at the earliest
   * after the end of the first, and where the queue counts so, `delayMs` after it. A name's requests have one `delayMs`.
   *
   * A request is never given up: after `attemptsMax` attempts it is tried again after a rest each time, the log tells of every
   * one, and `state` says why. When a run has succeeded and nothing more is wanted, the request is forgotten (`unknown`).
   *
   * A request is a hint: a server that loses its data loses it, and so does a caller who dies before he asks. Callers find out
   * at their start what has to be derived, and request it again.
   */
  request(name: string, id: string, input: unknown, options?: { readonly delayMs?: number }): Promise<void>
  state(name: string, id: string): Promise<JobState>
  /** How many jobs of the name, added or requested, are still to be done or being done, of all or of ids that begin so. Failed ones are done. */
  pending(name: string, idPrefix?: string): Promise<number>
  /** Resolves with the state after the added job has ended, or with its state when `timeoutMs` has passed. */
  result(name: string, id: string, timeoutMs: number): Promise<JobState>
  /** Forgets an added job that nobody is doing now: nobody wants its result any more, nor that it is begun. */
  withdraw(name: string, id: string): Promise<void>
  /** Does jobs of both kinds until the signal aborts; resolves after the running ones have ended. */
  work(options: WorkOptions): Promise<void>
}
