import { expect, test } from 'vitest'
import { applyAttestationDeltas } from '../../schemas/eth/transition/attestation-deltas.ts'
import { ReplayedBalances } from '../../schemas/eth/transition/effects.ts'
import type { ChainRules, ForkRules } from '../../schemas/eth/transition/fork-rules.ts'
import type { StateColumns } from '../../schemas/eth/transition/state-columns.ts'
import { giveBack, lend } from '../../schemas/memory.ts'
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

/** What a flag is worth to 32 increments on that chain by mainnet's factor: 14, 26 and 14 parts of 64. */
const [SOURCE = 0, TARGET = 0, HEAD = 0] = [14, 26, 14].map((weight) =>
  Math.floor((32 * Math.floor(64e9 / 31_622) * weight) / 64),
)
const inTime = { ...facts, isLeaking: false }

/** Three validators of 32 increments, with these flags and balances. */
function votesOf(flags: readonly number[], balancesGwei: readonly number[]) {
  const effectiveIncrements = Uint16Array.of(32, 32, 32)
  const state = { ...activeState(), effectiveIncrements, previousParticipation: Uint8Array.from(flags) }
  const balances = new ReplayedBalances(Float64Array.from(balancesGwei), 3)
  const deltas = applyAttestationDeltas(state, balances, { rules: rulesOf(1), fork, facts: inTime })
  const [source, target, head] = [deltas.sourceGwei, deltas.targetGwei, deltas.headGwei].map((column) => [...column])
  return { source, target, head, after: [...balances.gwei] }
}

test('a late vote earns what its target brings behind a source that has cost all that was there', () => {
  const { source, target, head, after } = votesOf([2, 2, 7], [5, 32e9, 5])
  expect(source).toEqual([-5, -SOURCE, SOURCE])
  expect(target).toEqual([TARGET, TARGET, TARGET])
  expect(head).toEqual([0, 0, HEAD])
  expect(after).toEqual([TARGET, 32e9 - SOURCE + TARGET, 5 + SOURCE + TARGET + HEAD])
})

test('penalties take what there is, to the gwei, and a reward before them, too', () => {
  const all = SOURCE + TARGET
  expect(votesOf([0, 0, 1], [all, all - 1, 0])).toEqual({
    source: [-SOURCE, -SOURCE, SOURCE],
    target: [-TARGET, -TARGET + 1, -SOURCE],
    head: [0, 0, 0],
    after: [0, 0, 0],
  })
})

test('bits that are no flags count for nothing', () => {
  expect(votesOf([0xfa, 0xf8, 0xff], [32e9, 32e9, 32e9])).toEqual(votesOf([2, 0, 7], [32e9, 32e9, 32e9]))
})

test('whoever has no duty, or comes with the epoch, has nothing of what was in the memory before', () => {
  const [known, all] = [9_000, 9_100] // enough to be lent memory
  const unset = () => new Uint32Array(known).fill(0xffff_ffff)
  const state: StateColumns = {
    ...activeState(),
    ...{
      validators: known,
      effectiveIncrements: new Uint16Array(known).fill(32),
      inactivityScores: new Uint32Array(known),
    },
    previousParticipation: new Uint8Array(known).fill(7),
    // Every third has left; every ninth was slashed before, and may withdraw now.
    ...{ activationEpochs: new Uint32Array(known), exitEpochs: unset().map((epoch, i) => (i % 3 === 0 ? 1 : epoch)) },
    slashed: new Uint8Array(known).map((_, i) => Number(i % 9 === 0)),
    withdrawableEpochs: unset().map((epoch, i) => (i % 3 === 0 ? 2 : epoch)),
  }
  const untidy = [Int32Array, Int32Array, Int32Array, Float64Array].map((ctor) => {
    return lend<Int32Array | Float64Array>(ctor, all).fill(7)
  })
  giveBack(untidy)
  const balances = new ReplayedBalances(new Float64Array(known).fill(32e9), all)
  const deltas = applyAttestationDeltas(state, balances, { rules: rulesOf(1), fork, facts: inTime })
  const columns = { source: deltas.sourceGwei, target: deltas.targetGwei, head: deltas.headGwei }
  const told = { source: SOURCE, target: TARGET, head: HEAD }
  for (const [name, column] of Object.entries(columns)) {
    const wanted = Array.from({ length: all }, (_, i) =>
      i >= known || i % 3 === 0 ? 0 : told[name as keyof typeof told],
    )
    expect([...column]).toEqual(wanted)
  }
  expect([...deltas.inactivityGwei]).toEqual(new Array(all).fill(0))
})
