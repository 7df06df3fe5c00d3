import { describe, expect, test } from 'vitest'
import type { StakedValidator } from '../../infra/ports/unstake-node.ts'
import { decideUnstake, type UnstakeView } from '../../processors/validators/decide-unstake.ts'

const ADDRESS = `0x${'ad'.repeat(20)}`
const ETH = 1_000_000_000n
const VALIDATOR: StakedValidator = {
  index: 7,
  withdrawalCredentials: `0x01${'00'.repeat(11)}${'ad'.repeat(20)}`,
  balanceGwei: 32n * ETH + 5n,
  effectiveBalanceGwei: 32n * ETH,
  activationEpoch: 100,
  exitEpoch: undefined,
}
const COMPOUNDING: StakedValidator = {
  ...VALIDATOR,
  withdrawalCredentials: `0x02${'00'.repeat(11)}${'ad'.repeat(20)}`,
  balanceGwei: 40n * ETH + 5n,
  effectiveBalanceGwei: 40n * ETH,
}
const VIEW: UnstakeView = {
  address: ADDRESS,
  amountGwei: undefined,
  validator: VALIDATOR,
  headEpoch: 356,
  facts: { shardCommitteePeriodEpochs: 256, minActivationBalanceGwei: 32n * ETH },
  pendingGwei: 0n,
}
const decide = (change: Partial<UnstakeView>) => decideUnstake({ ...VIEW, ...change })
const of = (change: Partial<StakedValidator>) => ({ validator: { ...VALIDATOR, ...change } })

describe('a withdrawal request is quoted', () => {
  test.each<[string, Partial<UnstakeView>, bigint]>([
    ['for all of a validator', {}, 0n],
    ['for its effective balance as for all', { amountGwei: 32n * ETH }, 0n],
    ['for its balance as for all', { amountGwei: 32n * ETH + 5n }, 0n],
    ['for all of a compounding one', { validator: COMPOUNDING }, 0n],
    ['for a part of a compounding one', { validator: COMPOUNDING, amountGwei: 1n }, 1n],
    ['for all that it may pay out', { validator: COMPOUNDING, amountGwei: 8n * ETH + 5n }, 8n * ETH + 5n],
    [
      'for what others leave of that',
      { validator: COMPOUNDING, amountGwei: 3n * ETH + 5n, pendingGwei: 5n * ETH },
      3n * ETH + 5n,
    ],
  ])('%s', (_, change, requestGwei) => {
    expect(decide(change)).toEqual({ status: 'accepted', requestGwei })
  })
})

describe('a withdrawal request is not quoted', () => {
  test.each<[string, Partial<UnstakeView>, RegExp]>([
    ['for an unknown validator', { validator: undefined }, /does not know/],
    ['without a withdrawal address', of({ withdrawalCredentials: `0x00${'ad'.repeat(31)}` }), /no withdrawal address/],
    ['for another’s address', { address: `0x${'ae'.repeat(20)}` }, /not the withdrawal address/],
    ['before an activation epoch is known', of({ activationEpoch: undefined }), /not active yet/],
    ['before the activation', of({ activationEpoch: 357 }), /not active yet/],
    ['once the exit has begun', of({ exitEpoch: 400 }), /exiting already/],
    ['once it has left', of({ exitEpoch: 300 }), /exiting already/],
    ['an epoch too early', { headEpoch: 355 }, /may exit from epoch 356 on, and it is 355/],
    ['while parts are pending', { validator: COMPOUNDING, pendingGwei: 1n }, /partial withdrawals .* pending/],
    ['for a part of a plain validator', { amountGwei: 1n }, /unstaked as a whole/],
    ['for more than a plain validator has', { amountGwei: 33n * ETH }, /unstaked as a whole/],
    [
      'for a gwei more than it may pay out',
      { validator: COMPOUNDING, amountGwei: 8n * ETH + 6n },
      /which is 8000000005 gwei/,
    ],
    [
      'for more than pending ones leave',
      { validator: COMPOUNDING, amountGwei: 4n * ETH, pendingGwei: 5n * ETH },
      /which is 3000000005 gwei/,
    ],
    [
      'for what pending ones have taken',
      { validator: COMPOUNDING, amountGwei: 1n, pendingGwei: 9n * ETH },
      /which is 0 gwei/,
    ],
    [
      'for a part of one that is below the minimum',
      { validator: { ...COMPOUNDING, effectiveBalanceGwei: 31n * ETH }, amountGwei: 1n },
      /which is 0 gwei/,
    ],
  ])('%s', (_, change, reason) => {
    expect(decide(change)).toMatchObject({ status: 'ignored', reason: expect.stringMatching(reason) })
  })
})
