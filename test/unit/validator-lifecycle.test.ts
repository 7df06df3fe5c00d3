import { expect, test } from 'vitest'
import { DEFAULT_UNFUNDED_RULES, expiresAtSlot, isExpired, tooManyUnfunded } from '../../schemas/validator-lifecycle.ts'

const MAINNET = { slotsPerEpoch: 32, secondsPerSlot: 12 }

test.each([
  [0, 1, 32],
  [31, 1, 63],
  [9_000_001, 1_575, 9_050_401],
  [5, 0, 5],
])('a validator of slot %d that may wait %d epochs expires at slot %d', (createdAtSlot, epochs, slot) => {
  expect(expiresAtSlot(MAINNET, createdAtSlot, epochs)).toBe(slot)
})

test('what is configured by default are seven days of mainnet', () => {
  const slots = expiresAtSlot(MAINNET, 0, DEFAULT_UNFUNDED_RULES.expiryEpochs)
  expect(slots * MAINNET.secondsPerSlot).toBe(7 * 86_400)
})

const CLOCK = { ...MAINNET, genesisTimeSec: 1_000 }
test.each([
  ['one slot before', { createdAtSec: 0, createdAtSlot: 64 }, 127, false],
  ['at its slot', { createdAtSec: 0, createdAtSlot: 64 }, 128, true],
  ['by the clock, one slot before', { createdAtSec: 1_000 + 64 * 12, createdAtSlot: undefined }, 127, false],
  ['by the clock, at its slot', { createdAtSec: 1_000 + 64 * 12, createdAtSlot: undefined }, 128, true],
  ['created before the genesis, at its slot', { createdAtSec: 3, createdAtSlot: undefined }, 64, true],
])('a validator is expired %s', (_, created, atSlot, expired) => {
  expect(isExpired(CLOCK, created, { atSlot, expiryEpochs: 2 })).toBe(expired)
})

test('as many may wait as the rule says, and the sentence says how many do', () => {
  const rules = { expiryEpochs: 1, unfundedMax: 10 }
  expect(tooManyUnfunded(8, 2, rules)).toBeUndefined()
  expect(tooManyUnfunded(9, 2, rules)).toBe(
    '9 validators of the account wait for their deposits and at most 10 may, so 2 more cannot be created: fund them, or wait until they expire',
  )
})
