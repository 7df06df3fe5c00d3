import { expect, test } from 'vitest'
import { slashingPenaltyQuotient } from '../../ingest/epochs/spec.ts'
import { forkRules, TRANSITION_FORKS } from '../../schemas/eth/transition/fork-rules.ts'

/** Mainnet's, as a node tells them: those of earlier forks stay among them (consensus-specs `a08d8a6`, presets/mainnet and configs/mainnet.yaml). */
const MAINNET = {
  INACTIVITY_PENALTY_QUOTIENT: '67108864',
  INACTIVITY_PENALTY_QUOTIENT_ALTAIR: '50331648',
  INACTIVITY_PENALTY_QUOTIENT_BELLATRIX: '16777216',
  MIN_SLASHING_PENALTY_QUOTIENT: '128',
  MIN_SLASHING_PENALTY_QUOTIENT_ALTAIR: '64',
  MIN_SLASHING_PENALTY_QUOTIENT_BELLATRIX: '32',
  MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA: '4096',
  PROPORTIONAL_SLASHING_MULTIPLIER: '1',
  PROPORTIONAL_SLASHING_MULTIPLIER_ALTAIR: '2',
  PROPORTIONAL_SLASHING_MULTIPLIER_BELLATRIX: '3',
  WHISTLEBLOWER_REWARD_QUOTIENT: '512',
  WHISTLEBLOWER_REWARD_QUOTIENT_ELECTRA: '4096',
  ALTAIR_FORK_EPOCH: '74240',
  BELLATRIX_FORK_EPOCH: '144896',
  CAPELLA_FORK_EPOCH: '194048',
  DENEB_FORK_EPOCH: '269568',
  ELECTRA_FORK_EPOCH: '364032',
  FULU_FORK_EPOCH: '411392',
}

/** Inactivity: EB * score / (4 * quotient); slashing: initial, correlation, whistleblower (rewards by fork, as each one's specification has them). */
const TABLE = {
  altair: [3 * 2 ** 24, 64, 2, 512],
  bellatrix: [2 ** 24, 32, 3, 512],
  capella: [2 ** 24, 32, 3, 512],
  deneb: [2 ** 24, 32, 3, 512],
  electra: [2 ** 24, 4_096, 3, 4_096],
  fulu: [2 ** 24, 4_096, 3, 4_096],
} as const

test.each(TRANSITION_FORKS)('the numbers of %s are those of its specification', (fork) => {
  const [inactivityQuotient, slashingPenaltyQuotient, slashingMultiplier, whistleblowerQuotient] = TABLE[fork]
  expect(forkRules(MAINNET, fork)).toEqual({
    ...{ inactivityQuotient, slashingPenaltyQuotient, slashingMultiplier, whistleblowerQuotient },
  })
})

test.each([
  ['the first epochs of Altair', 74_240, 64],
  ['the last one before Bellatrix', 144_895, 64],
  ['the first one of Bellatrix', 144_896, 32],
  ['the first one of Deneb', 269_568, 32],
  ['the last one before Electra', 364_031, 32],
  ['the first one of Electra', 364_032, 4_096],
  ['the first one of Fulu', 411_392, 4_096],
])('what a slashing costs at once where endpoints tell rewards: %s', (_, epoch, quotient) => {
  expect(slashingPenaltyQuotient(MAINNET, epoch)).toBe(quotient)
})

test('a number that a node does not tell is asked for by its name, and none takes its place', () => {
  const { WHISTLEBLOWER_REWARD_QUOTIENT_ELECTRA: _, ...without } = MAINNET
  expect(() => forkRules(without, 'fulu')).toThrow(/WHISTLEBLOWER_REWARD_QUOTIENT_ELECTRA/)
  expect(forkRules(without, 'deneb')).toMatchObject({ whistleblowerQuotient: 512 })
})
