import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { ReadNftContractInput, readNftContract } from '../../schemas/jobs/read-nft.ts'
import { REREAD_DELAY_MS } from './notice-unread.ts'
import type { Done, Run } from './read-some.ts'

/** Contracts that are read side by side: a server that does not answer takes a place for ten seconds, and then makes room. */
export const CONTRACTS_AT_ONCE = 8
/** The same of what contracts say has changed: who is read for the first time waits for none of them. */
export const CHANGED_AT_ONCE = 8

export interface Lane {
  readonly jobQueue: Pick<JobQueue, 'request' | 'pending'>
  readonly job: typeof readNftContract
  readonly which: Run['which']
  readonly read: (run: Run) => Promise<Done>
  /** Where a run has read nothing and there is more, the tables have to follow first. */
  readonly follow: () => Promise<void>
}

/** Does some of what is to be read of a contract, and puts the rest behind what others wait for. */
export async function takeTurn(
  { jobQueue, job, which, read, follow }: Lane,
  place: ReadNftContractInput,
): Promise<void> {
  const contractsWaiting = await jobQueue.pending(job.name)
  const done = await read({ ...place, which, contractsWaiting })
  if (!done.isMore) return
  if (done.read === 0) await follow()
  await jobQueue.request(job.name, job.idOf(place), place, which === 'changed' ? { delayMs: REREAD_DELAY_MS } : {})
}
