import { randomUUID } from 'node:crypto'
import { openRedisCounters } from '../../infra/counters/redis.ts'
import { limitsContract } from './gateway-limits.ts'
import { withServer } from './test-servers.ts'

withServer('redis', (redisUrl) => {
  limitsContract('Redis', async () => {
    const prefix = `test-${randomUUID()}:`
    return {
      open: () => openRedisCounters({ redisUrl, prefix }),
      // Keys of a private Redis go with it.
      async [Symbol.asyncDispose]() {},
    }
  })
})
