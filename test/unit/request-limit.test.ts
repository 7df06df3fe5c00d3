import { expect, test } from 'vitest'
import { RequestLimit } from '../../api/http/request-limit.ts'

test('a token may ask so many times at once, and then as often as its share comes back', () => {
  const limit = new RequestLimit(2)
  expect([limit.take('a', 0), limit.take('a', 0)]).toEqual([0, 0])
  expect(limit.take('a', 0)).toBeCloseTo(0.5)
  expect(limit.take('a', 400)).toBeCloseTo(0.1)
  expect(limit.take('a', 500)).toBe(0)
  expect(limit.take('a', 500)).toBeCloseTo(0.5)
})

test('one token’s questions are not another’s', () => {
  const limit = new RequestLimit(1)
  expect(limit.take('a', 0)).toBe(0)
  expect(limit.take('b', 0)).toBe(0)
  expect(limit.take('a', 0)).toBeGreaterThan(0)
})

test('whoever has asked nothing for long may not ask more at once than in a second', () => {
  const limit = new RequestLimit(2)
  limit.take('a', 0)
  expect([1, 2, 3].map(() => limit.take('a', 3_600_000) === 0)).toEqual([true, true, false])
})
