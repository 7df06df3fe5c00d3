export type JobState =
  | { readonly status: 'unknown' }
  | { readonly status: 'waiting' | 'active' }
  | { readonly status: 'completed'; readonly output: unknown }
  | { readonly status: 'failed'; readonly reason: string }

/** What `add` found: one id is one job, forever. */
export type AddedJob = { readonly status: 'added' } | { readonly status: 'duplicate'; readonly existing: JobState }

export interface WorkOptions {
  readonly name: string
  readonly concurrency: number
  readonly signal: AbortSignal
  /** Resolves with the job's output; rejects = tried again, at most `attemptsMax` times in all. Must be repeatable. */
  handle(job: { readonly id: string; readonly input: unknown; readonly attempt: number }): Promise<unknown>
}

/**
 * Work that must happen once it was accepted, by whichever process has time.
 *
 * Guarantees: an added job survives a crash; it is handled at least once; a job whose worker died is handed to another one
 * after the lease; results stay readable for at least an hour.
 * Not promised: order, exactly once. Inputs and outputs are JSON values.
 */
export interface JobQueue extends AsyncDisposable {
  add(name: string, id: string, input: unknown): Promise<AddedJob>
  state(name: string, id: string): Promise<JobState>
  /** Resolves with the state after the job has ended, or with its state when `timeoutMs` has passed. */
  result(name: string, id: string, timeoutMs: number): Promise<JobState>
  /** Works until the signal aborts; resolves after the running jobs have ended. */
  work(options: WorkOptions): Promise<void>
}
