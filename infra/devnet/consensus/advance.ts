import { ForkSeq, SLOTS_PER_EPOCH } from '@lodestar/params'
import {
  beforeProcessEpoch,
  type CachedBeaconStateAltair,
  type CachedBeaconStateCapella,
  type CachedBeaconStateElectra,
  type CachedBeaconStateFulu,
  type EpochTransitionCache,
} from '@lodestar/state-transition'
import {
  processEffectiveBalanceUpdates,
  processEth1DataReset,
  processHistoricalSummariesUpdate,
  processInactivityUpdates,
  processJustificationAndFinalization,
  processParticipationFlagUpdates,
  processPendingConsolidations,
  processPendingDeposits,
  processRandaoMixesReset,
  processRegistryUpdates,
  processRewardsAndPenalties,
  processSlashings,
  processSlashingsReset,
  processSyncCommitteeUpdates,
} from '@lodestar/state-transition/epoch'
import { processSlot } from '@lodestar/state-transition/slot'
import { processProposerLookahead } from './proposer-lookahead.ts'

/** process_epoch (consensus-specs fulu) in the order of the library, which applies slashing penalties together with the rewards. */
function processEpoch(state: CachedBeaconStateFulu, cache: EpochTransitionCache): void {
  // One state in the library's types of its older forks, which it does not derive from each other.
  const altair = state as unknown as CachedBeaconStateAltair
  const capella = state as unknown as CachedBeaconStateCapella
  const electra = state as unknown as CachedBeaconStateElectra
  processJustificationAndFinalization(state, cache)
  processInactivityUpdates(altair, cache)
  processRegistryUpdates(ForkSeq.fulu, state, cache)
  const slashingPenalties = processSlashings(state, cache, false)
  processRewardsAndPenalties(state, cache, slashingPenalties)
  processEth1DataReset(state, cache)
  processPendingDeposits(electra, cache)
  processPendingConsolidations(electra, cache)
  processEffectiveBalanceUpdates(ForkSeq.fulu, state, cache)
  processSlashingsReset(state, cache)
  processRandaoMixesReset(state, cache)
  processHistoricalSummariesUpdate(capella, cache)
  processParticipationFlagUpdates(altair)
  processSyncCommitteeUpdates(ForkSeq.fulu, altair)
  processProposerLookahead(state, cache)
}

/**
 * A copy of the state moved to a later slot; `onEpoch` sees each epoch's end on the way. The library's `processSlots` for a chain that
 * is in Fulu from its beginning to its end; its search for the proposers to come alone would be a tenth of the chain's time.
 */
export function advanceTo(
  from: CachedBeaconStateFulu,
  slot: number,
  onEpoch: (cache: EpochTransitionCache) => void,
): CachedBeaconStateFulu {
  const state = from.clone()
  while (state.slot < slot) {
    processSlot(ForkSeq.fulu, state)
    const endsEpoch = (state.slot + 1) % SLOTS_PER_EPOCH === 0
    const cache = endsEpoch ? beforeProcessEpoch(state) : undefined
    if (cache !== undefined) {
      processEpoch(state, cache)
      onEpoch(cache)
    }
    state.slot++
    if (cache === undefined) continue
    state.epochCtx.afterProcessEpoch(state, cache)
    state.epochCtx.finalProcessEpoch(state, cache)
    state.commit()
  }
  state.commit()
  return state
}
