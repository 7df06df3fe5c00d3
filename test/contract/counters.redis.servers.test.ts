import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { openRedisCounters } from '../../infra/counters/redis.ts'
import { countersContract } from './counters.ts'
import { withServer } from './test-servers.ts'

withServer('redis', (redisUrl) => {
  countersContract('Redis', async () => {
    const prefix = `test-${randomUUID()}:`
    return {
      open: () => openRedisCounters({ redisUrl, prefix }),
      // Keys of a private Redis go with it.
      [Symbol.asyncDispose]: async () => {},
    }
  })

  test('Redis counters are shared by all processes', async () => {
    const prefix = `test-${randomUUID()}:`
    await using one = await openRedisCounters({ redisUrl, prefix })
    await using other = await openRedisCounters({ redisUrl, prefix })
    const takes = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? one : other).take('k', 1, 30, 1_000, 0)),
    )
    expect(takes.filter(({ allowed }) => allowed).length).toBe(30)
  })

  test('Redis that cannot be reached is an AppError that names no address', async () => {
    const opening = openRedisCounters({ redisUrl: 'redis://127.0.0.1:1', prefix: '' })
    await expect(opening).rejects.toMatchObject({ code: 'counters', retryable: true })
    await expect(opening).rejects.not.toThrow('127.0.0.1')
  })
})
