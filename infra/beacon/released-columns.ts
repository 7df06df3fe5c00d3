import type { ExplainedEpoch } from '../../schemas/eth/transition/explain-epoch.ts'
import type { StateColumns } from '../../schemas/eth/transition/state-columns.ts'
import { giveBack } from '../../schemas/memory.ts'

// An epoch's columns have some hundred megabytes. Left to the garbage collector, those of several epochs would lie in memory.

/** Gives back the memory of a state's columns of one value per validator and its mixes, which are empty afterwards. What else it has stays. */
export function releaseState(state: StateColumns): void {
  releaseButBalances(state)
  giveBack([state.balancesGwei])
}

/** As `releaseState`, but for the balances, which cuts of the epoch behind it may be. */
export function releaseButBalances(state: StateColumns): void {
  const { effectiveIncrements, slashed, credentialPrefixes, inactivityScores } = state
  const { eligibilityEpochs, activationEpochs, exitEpochs, withdrawableEpochs } = state
  const { previousParticipation, currentParticipation, randaoMixes } = state
  giveBack([effectiveIncrements, slashed, credentialPrefixes, inactivityScores])
  giveBack([eligibilityEpochs, activationEpochs, exitEpochs, withdrawableEpochs])
  giveBack([previousParticipation, currentParticipation, randaoMixes])
}

/** Gives back the memory of the balances that an epoch was asked for, behind its rows, which have the rest of it. */
export function releaseCuts({ cuts }: ExplainedEpoch): void {
  giveBack(cuts.map(({ gwei }) => gwei))
}
