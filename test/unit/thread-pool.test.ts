import { expect, test } from 'vitest'
import { POOL_THREADS, poolThreads, sizeThreadPool } from '../../infra/thread-pool.ts'

test.each([
  [undefined, POOL_THREADS],
  ['20', 20],
  ['abc', POOL_THREADS],
  ['', POOL_THREADS],
  ['0', POOL_THREADS],
  ['-3', POOL_THREADS],
  ['1e9', POOL_THREADS],
  ['99999', 1_024],
])('with UV_THREADPOOL_SIZE=%s the pool has %i threads', (given, threads) => {
  const environment = given === undefined ? {} : { UV_THREADPOOL_SIZE: given }
  sizeThreadPool(environment)
  expect(poolThreads(environment)).toBe(threads)
})

test('a variable that nobody has looked at counts as Node reads it', () => {
  expect(poolThreads({})).toBe(4)
  expect(poolThreads({ UV_THREADPOOL_SIZE: 'abc' })).toBe(1)
})
