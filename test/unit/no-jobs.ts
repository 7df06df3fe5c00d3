import type { JobQueue } from '../../infra/ports/job-queue.ts'

const nobodyAsked = () => Promise.reject(new Error('nobody was to ask for anything to be done'))

/** For an API that is only asked. */
export const noJobs: Pick<JobQueue, 'add' | 'result' | 'withdraw' | 'request' | 'pending'> = {
  add: nobodyAsked,
  result: nobodyAsked,
  withdraw: nobodyAsked,
  request: nobodyAsked,
  pending: nobodyAsked,
}
