import type { ExplainedEpoch } from '../../schemas/eth/transition/explain-epoch.ts'
import type { StateColumns } from '../../schemas/eth/transition/state-columns.ts'
import { giveBack } from '../../schemas/memory.ts'

// An epoch's columns have some hundred megabytes. Left to the garbage collector, those of several epochs would lie in memory.

/** Gives back the memory of a state's columns of one value per validator and its mixes, which are empty afterwards. What else it has stays. */
export function releaseState(state: StateColumns): void {
  const { balancesGwei, effectiveIncrements, slashed, credentialPrefixes, inactivityScores } = state
  const { eligibilityEpochs, activationEpochs, exitEpochs, withdrawableEpochs } = state
  const { previousParticipation, currentParticipation, randaoMixes } = state
  giveBack([balancesGwei, effectiveIncrements, slashed, credentialPrefixes, inactivityScores])
  giveBack([eligibilityEpochs, activationEpochs, exitEpochs, withdrawableEpochs])
  giveBack([previousParticipation, currentParticipation, randaoMixes])
}

/** Gives back the memory of what the epoch brought each validator, which is empty afterwards. */
export function releaseExplained({ sourceGwei, targetGwei, headGwei, inactivityGwei, cuts }: ExplainedEpoch): void {
  giveBack([sourceGwei, targetGwei, headGwei, inactivityGwei, ...cuts.map(({ gwei }) => gwei)])
}
