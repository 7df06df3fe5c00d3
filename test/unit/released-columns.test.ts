import { expect, test } from 'vitest'
import { encodeKeptState } from '../../infra/beacon/kept-state-file.ts'
import { releaseButBalances, releaseCuts, releaseState } from '../../infra/beacon/released-columns.ts'
import { type ExplainedEpoch, explainEpoch } from '../../schemas/eth/transition/explain-epoch.ts'
import { refuseGivenBack } from '../../schemas/eth/transition/state-columns.ts'
import { stateOf } from './given-state.ts'

const VALIDATORS = 3
const gwei = () => new Float64Array(VALIDATORS).fill(1)

test('a released state has no column by validator left and no mixes, and all else', () => {
  const { columns } = stateOf(95)
  const { validators } = columns
  const lengths = () => Object.values(columns).flatMap((one) => (ArrayBuffer.isView(one) ? [one.byteLength] : []))
  const bytes = (sizes: readonly number[]) => sizes.reduce((sum, one) => sum + one, 0)
  const before = bytes(lengths())
  // Two doubles, four epochs, an effective balance, and four columns of a byte each.
  const released = validators * (8 + 5 * 4 + 2 + 4) + columns.randaoMixes.byteLength
  releaseState(columns)
  expect([bytes(lengths()), columns.balancesGwei.length]).toEqual([before - released, 0])
  expect([columns.blockRoots.length > 0, columns.syncSeats.length > 0]).toEqual([true, true])
  expect(() => releaseState(columns)).not.toThrow()
})

test('a state that is released but for its balances has them', () => {
  const { columns } = stateOf(95)
  const { balancesGwei } = columns
  releaseButBalances(columns)
  expect([columns.balancesGwei, columns.balancesGwei.length, columns.exitEpochs.length]).toEqual([balancesGwei, 3, 0])
})

test('a released state is neither computed with nor kept', async () => {
  const state = stateOf(95)
  const { columns } = state
  refuseGivenBack(columns)
  releaseState(columns)
  const refused = 'the columns of the state of slot 95 were given back and are read again'
  const given = { before: columns, after: columns, blocks: [], spec: {}, isSigned: () => true }
  expect(() => explainEpoch(given)).toThrow(refused)
  await expect(encodeKeptState(state)).rejects.toThrow(refused)
})

test('memory that a column shares with others stays, and what two have is given back once', () => {
  const shared = new Float64Array(2 * VALIDATORS)
  const balances = gwei()
  const cuts = [balances, balances, shared.subarray(VALIDATORS)].map((gwei, slot) => ({ slot, gwei }))
  releaseCuts({ cuts } as unknown as ExplainedEpoch)
  expect(cuts.map(({ gwei: { length } }) => length)).toEqual([0, 0, VALIDATORS])
  expect(shared.length).toBe(2 * VALIDATORS)
})
