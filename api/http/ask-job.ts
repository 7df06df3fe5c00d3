import { randomUUID } from 'node:crypto'
import type { AnsweringJob } from '../../schemas/jobs/job.ts'
import type { ActionScope } from './action.ts'

/** So long the job queue keeps what became of a request: longer than a client waits, and not much: it may be a hundred kilobytes. */
const KEPT_MS = 60_000

/** The input of a job that does nothing when nobody waits any more: Unix milliseconds on this machine. */
interface Limited {
  readonly notAfterMs: number
}

/**
 * Has a job done whose end the request waits for: its output, or undefined where it has not ended in time or has failed. One that nobody
 * has begun by then is withdrawn; it may be taken later all the same, so that its input has the time limit too.
 */
export async function askJob<Input extends Limited, Output>(
  { jobs, wallNow }: Pick<ActionScope, 'jobs' | 'wallNow'>,
  job: AnsweringJob<Input, Output>,
  asked: { readonly input: Omit<Input, 'notAfterMs'>; readonly timeoutMs: number },
): Promise<Output | undefined> {
  // Each asking is a job of its own: what may happen only once is known to the one who does it.
  const id = randomUUID()
  const input = { ...asked.input, notAfterMs: wallNow() + asked.timeoutMs }
  await jobs.add(job.name, id, input, { keepMs: KEPT_MS })
  const state = await jobs.result(job.name, id, asked.timeoutMs)
  if (state.status === 'completed') return job.parseOutput(state.output)
  await jobs.withdraw(job.name, id)
  return undefined
}
