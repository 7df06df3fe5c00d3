import { expect, test } from 'vitest'
import { effectsOf } from '../../schemas/events/balance-effects.ts'

test('three lists of earlier events are effects on balances, and an initial slashing penalty is rounded down', () => {
  const slashing = { slot: 9, validatorIndex: 4, effectiveBalanceGwei: '31999999999', penaltyQuotient: 4096 }
  expect(
    effectsOf({
      withdrawals: [{ slot: 8, index: 77, validatorIndex: 3, amountGwei: '500' }],
      slashings: [slashing],
      deposits: [{ slot: 0, validatorIndex: 2, kind: 'returned_from_queue', ordinal: 6, amountGwei: '1000' }],
    }),
  ).toEqual([
    { slot: 8, validatorIndex: 3, kind: 'withdrawal', reference: 77, amountGwei: '-500' },
    { slot: 9, validatorIndex: 4, kind: 'slashing_penalty', reference: 0, amountGwei: '-7812499' },
    { slot: 0, validatorIndex: 2, kind: 'returned_from_queue', reference: 6, amountGwei: '1000' },
  ])
})
