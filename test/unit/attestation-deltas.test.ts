import { expect, test } from 'vitest'
import { applyAttestationDeltas } from '../../schemas/eth/transition/attestation-deltas.ts'
import { ReplayedBalances } from '../../schemas/eth/transition/effects.ts'
import type { ChainRules, ForkRules } from '../../schemas/eth/transition/fork-rules.ts'
import { stateOf } from './given-state.ts'

const participated = { source: 1, target: 1, head: 1, currentTarget: 1 }
const facts = { epoch: 3, activeIncrements: 1, participated, finalizedEpoch: 1, isLeaking: true }
const fork = { inactivityQuotient: 2 ** 24 } as ForkRules

const rulesOf = (times: number) =>
  ({ baseRewardFactor: 64 * times, inactivityScoreBias: 4, inactivityScoreRecoveryRate: 16 }) as ChainRules

/** A state whose three validators are all active. */
function activeState() {
  const { columns } = stateOf(127)
  const unset = new Uint32Array(3).fill(0xffff_ffff)
  return {
    ...columns,
    ...{ activationEpochs: new Uint32Array(3), exitEpochs: unset, withdrawableEpochs: unset },
    ...{ slashed: new Uint8Array(3), previousParticipation: new Uint8Array(3), inactivityScores: new Uint32Array(3) },
  }
}

/** All validators of the state have missed everything on a chain where one increment is active; the factor is mainnet's times so much. */
function penaltiesOf(times: number) {
  const state = activeState()
  const balances = new ReplayedBalances(state.balancesGwei, 3)
  return applyAttestationDeltas(state, balances, { rules: rulesOf(times), fork, facts })
}

test("the most that a vote can cost by mainnet's factor is told whole, and a chain where it is more is refused", () => {
  // 2,048 increments * (1e9 * 64 // isqrt(1e9)), of which 26 parts of 64 are the target's.
  const target = Math.floor((2_048 * Math.floor(64e9 / 31_622) * 26) / 64)
  expect(penaltiesOf(1).targetGwei[2]).toBe(-target)
  expect(target).toBeGreaterThan(1.6e9)
  expect(() => penaltiesOf(2)).toThrow(expect.objectContaining({ code: 'usage' }))
})

test('a late vote earns what its target brings behind a source that has cost all that was there', () => {
  const effectiveIncrements = Uint16Array.of(32, 32, 32)
  const state = { ...activeState(), effectiveIncrements, previousParticipation: Uint8Array.of(2, 2, 7) }
  const balances = new ReplayedBalances(Float64Array.of(5, 32e9, 5), 3)
  const inTime = { ...facts, isLeaking: false }
  const deltas = applyAttestationDeltas(state, balances, { rules: rulesOf(1), fork, facts: inTime })
  const perIncrement = Math.floor(64e9 / 31_622)
  const [source, target, head] = [14, 26, 14].map((weight) => Math.floor((32 * perIncrement * weight) / 64))
  expect([...deltas.sourceGwei.subarray(0, 3)]).toEqual([-5, -(source ?? 0), source])
  expect([...deltas.targetGwei.subarray(0, 3)]).toEqual([target, target, target])
  expect([...deltas.headGwei.subarray(0, 3)]).toEqual([0, 0, head])
  expect(balances.gwei[0]).toBe(target)
})
