import { expect, test } from 'vitest'
import { EXPIRY_EPOCHS_DEFAULT, expiresAtSlot } from '../../schemas/validator-lifecycle.ts'

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
  const slots = expiresAtSlot(MAINNET, 0, EXPIRY_EPOCHS_DEFAULT)
  expect(slots * MAINNET.secondsPerSlot).toBe(7 * 86_400)
})
