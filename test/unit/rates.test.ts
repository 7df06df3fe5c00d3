import { expect, test } from 'vitest'
import { Rates } from '../../api/gateway/rates.ts'

test('lets so many pass in a second, and says when the next one may', () => {
  const rates = new Rates()
  for (let i = 0; i < 5; i++) expect(rates.take('key ethereum/mainnet', 1, 5, 1_000)).toBeUndefined()
  expect(rates.take('key ethereum/mainnet', 1, 5, 1_000)).toEqual({
    ...{ status: 'limited', reason: 'rate_limit', units: 1, limit: 5, remaining: 0, resetSec: 1, retryAfterSec: 1 },
  })
  expect(rates.take('key bsc/mainnet', 1, 5, 1_000)).toBeUndefined()
  expect(rates.take('key ethereum/mainnet', 1, 5, 1_200)).toBeUndefined()
  expect(rates.take('key ethereum/mainnet', 1, 5, 1_200)).toBeDefined()
})

test('a batch larger than a second’s calls passes when none of them are used, and is paid off later', () => {
  const rates = new Rates()
  expect(rates.take('key', 20, 5, 0)).toBeUndefined()
  expect(rates.take('key', 1, 5, 1_000)).toMatchObject({ remaining: 0, resetSec: 3, retryAfterSec: 3 })
  expect(rates.take('key', 1, 5, 3_000)).toBeDefined()
  expect(rates.take('key', 1, 5, 3_300)).toBeUndefined()
})
