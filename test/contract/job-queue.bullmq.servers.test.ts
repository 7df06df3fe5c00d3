import { randomUUID } from 'node:crypto'
import { openBullmqJobQueue } from '../../infra/job-queue/bullmq.ts'
import { jobQueueContract } from './job-queue.ts'
import { withServer } from './test-servers.ts'

withServer('redis', (redisUrl) => {
  jobQueueContract('BullMQ', async () => {
    const prefix = `test-${randomUUID()}`
    return {
      open: (limits) => openBullmqJobQueue({ redisUrl, prefix, ...limits }),
      childArguments: ['bullmq', redisUrl, prefix],
      // Keys of a private Redis go with it.
      [Symbol.asyncDispose]: async () => {},
    }
  })
})
