import { randomUUID } from 'node:crypto'
import { openBullmqJobQueue } from '../../infra/job-queue/bullmq.ts'
import { jobQueueContract } from './job-queue.ts'
import { jobForgettingContract } from './job-queue-forgetting.ts'
import type { JobQueuePlace } from './job-queue-place.ts'
import { jobRequestsContract } from './job-queue-requests.ts'
import { withServer } from './test-servers.ts'

withServer('redis', (redisUrl) => {
  const newPlace = async (): Promise<JobQueuePlace> => {
    const prefix = `test-${randomUUID()}`
    return {
      open: (options) => openBullmqJobQueue({ redisUrl, prefix, ...options }),
      childArguments: ['bullmq', redisUrl, prefix],
      // Keys of a private Redis go with it.
      [Symbol.asyncDispose]: async () => {},
    }
  }
  jobQueueContract('BullMQ', newPlace)
  jobRequestsContract('BullMQ', newPlace)
  jobForgettingContract('BullMQ', newPlace)
})
