import { expect, test } from 'vitest'
import { applyAttestationDeltas } from '../../schemas/eth/transition/attestation-deltas.ts'
import { ReplayedBalances } from '../../schemas/eth/transition/effects.ts'
import type { ChainRules, ForkRules } from '../../schemas/eth/transition/fork-rules.ts'
import { stateOf } from './given-state.ts'

const facts = { epoch: 3, activeIncrements: 1, finalizedEpoch: 1, isLeaking: true }
const fork = { inactivityQuotient: 2 ** 24 } as ForkRules

/** All validators of the state have missed everything on a chain where one increment is active; the factor is mainnet's times so much. */
function penaltiesOf(times: number) {
  const { columns } = stateOf(127)
  const rules = { baseRewardFactor: 64 * times, inactivityScoreBias: 4, inactivityScoreRecoveryRate: 16 } as ChainRules
  const unset = new Uint32Array(3).fill(0xffff_ffff)
  const state = {
    ...columns,
    ...{ activationEpochs: new Uint32Array(3), exitEpochs: unset, withdrawableEpochs: unset },
    ...{ slashed: new Uint8Array(3), previousParticipation: new Uint8Array(3), inactivityScores: new Uint32Array(3) },
  }
  return applyAttestationDeltas(state, new ReplayedBalances(columns.balancesGwei, 3), { rules, fork, facts })
}

test("the most that a vote can cost by mainnet's factor is told whole, and a chain where it is more is refused", () => {
  // 2,048 increments * (1e9 * 64 // isqrt(1e9)), of which 26 parts of 64 are the target's.
  const target = Math.floor((2_048 * Math.floor(64e9 / 31_622) * 26) / 64)
  expect(penaltiesOf(1).targetGwei[2]).toBe(-target)
  expect(target).toBeGreaterThan(1.6e9)
  expect(() => penaltiesOf(2)).toThrow(expect.objectContaining({ code: 'usage' }))
})
