import { expect, test } from 'vitest'
import { AskedBefore } from '../../api/http/asked-before.ts'

test('what was asked for before is known, and nearly nothing else', () => {
  const asked = new AskedBefore()
  const keys = Array.from({ length: 20_000 }, (_, i) => `0x${i.toString(16).padStart(64, '0')}`)
  expect(keys.filter((key) => asked.isAgain(key))).toEqual([])
  // Some have taken the places of others.
  const again = keys.filter((key) => asked.isAgain(key)).length
  expect(again).toBeGreaterThan(keys.length * 0.8)
  expect(asked.isAgain(keys.at(-1) as string)).toBe(true)
})
