import { ForkSeq, GENESIS_EPOCH, SLOTS_PER_EPOCH } from '@lodestar/params'
import {
  beforeProcessEpoch,
  type CachedBeaconStateAllForks,
  type CachedBeaconStateAltair,
  type CachedBeaconStateBellatrix,
  type CachedBeaconStateCapella,
  type CachedBeaconStateDeneb,
  type CachedBeaconStateElectra,
  type CachedBeaconStateFulu,
  type EpochTransitionCache,
  FLAG_ELIGIBLE_ATTESTER,
  FLAG_PREV_HEAD_ATTESTER,
  FLAG_PREV_SOURCE_ATTESTER,
  FLAG_UNSLASHED,
  hasMarkers,
} from '@lodestar/state-transition'
import {
  getRewardsAndPenalties,
  processEffectiveBalanceUpdates,
  processEth1DataReset,
  processHistoricalRootsUpdate,
  processHistoricalSummariesUpdate,
  processInactivityUpdates,
  processJustificationAndFinalization,
  processParticipationFlagUpdates,
  processPendingConsolidations,
  processPendingDeposits,
  processProposerLookahead,
  processRandaoMixesReset,
  processRegistryUpdates,
  processRewardsAndPenalties,
  processSlashings,
  processSlashingsReset,
  processSyncCommitteeUpdates,
} from '@lodestar/state-transition/epoch'
import {
  processSlot,
  upgradeStateToBellatrix,
  upgradeStateToCapella,
  upgradeStateToDeneb,
  upgradeStateToElectra,
  upgradeStateToFulu,
} from '@lodestar/state-transition/slot'
import type { BalanceChanges, Step } from './balance-changes.ts'

/** Sees the state right before and right after a step, which may not be committed. */
export interface EpochObserver {
  before(step: Step, state: CachedBeaconStateAllForks, cache: EpochTransitionCache): void
  after(step: Step, state: CachedBeaconStateAllForks, cache: EpochTransitionCache): void
  /** An attestation penalty was larger than the balance. */
  saturated(): void
}

interface Deltas {
  readonly rewards: readonly number[]
  readonly penalties: readonly number[]
}

/** The reference's deltas, copied: it fills the same arrays at every call. */
function deltas(state: CachedBeaconStateAllForks, cache: EpochTransitionCache): Deltas {
  const [rewards, penalties] = getRewardsAndPenalties(state, cache)
  return { rewards: [...rewards], penalties: [...penalties] }
}

/**
 * What the reference gives and takes in one sum, taken apart by asking it again: without the head votes, with every source vote turned
 * round (who had one misses it, who missed it has one), and with all inactivity scores at zero. The difference is the component.
 */
function components(state: CachedBeaconStateAllForks, cache: EpochTransitionCache) {
  // Slashed validators count as such who are not slashed and missed everything: that turns their source votes round as well.
  const flags = cache.flags.map((flag) =>
    hasMarkers(flag, FLAG_UNSLASHED) ? flag : (flag & FLAG_ELIGIBLE_ATTESTER) | FLAG_UNSLASHED,
  )
  const withFlags = (change: (flag: number) => number) => deltas(state, { ...cache, flags: flags.map(change) })
  const all = withFlags((flag) => flag)
  const noHead = withFlags((flag) => flag & ~FLAG_PREV_HEAD_ATTESTER)
  const otherSource = withFlags((flag) => flag ^ FLAG_PREV_SOURCE_ATTESTER)
  const zeroScores = { inactivityScores: { value: { get: () => 0 } } }
  const noScores = deltas(Object.create(state, zeroScores) as CachedBeaconStateAllForks, cache)
  return flags.map((flag, i) => {
    const [reward, penalty] = [all.rewards[i] as number, all.penalties[i] as number]
    const hasSource = hasMarkers(flag, FLAG_PREV_SOURCE_ATTESTER)
    const head = reward - (noHead.rewards[i] as number)
    const inactivity = penalty - (noScores.penalties[i] as number)
    const sourceReward = hasSource ? reward - (otherSource.rewards[i] as number) : 0
    const sourcePenalty = hasSource ? 0 : penalty - (otherSource.penalties[i] as number)
    const target = reward - penalty - head + inactivity - sourceReward + sourcePenalty
    return [
      ['source', sourceReward - sourcePenalty],
      ['target', target],
      ['head', head],
      ['inactivity', -inactivity],
    ] satisfies [Step, number][]
  })
}

/** Records the components in the order of the specification, none below a balance of zero; the reference's result is their sum. */
function rewardsAndPenalties(
  state: CachedBeaconStateAllForks,
  cache: EpochTransitionCache,
  changes: BalanceChanges,
  observer: EpochObserver,
): void {
  const ofValidators = cache.currentEpoch === GENESIS_EPOCH ? [] : components(state, cache)
  processRewardsAndPenalties(state, cache)
  for (const [validatorIndex, parts] of ofValidators.entries()) {
    for (const [step, gwei] of parts) {
      const balance = changes.balance(validatorIndex)
      if (gwei < -balance) observer.saturated()
      changes.recordPart({ slot: state.slot + 1, step, validatorIndex, gwei: Math.max(gwei, -balance) })
    }
  }
  changes.assertComplete(state)
}

const UPGRADES = [
  {
    step: 'upgrade_bellatrix',
    epoch: 'BELLATRIX_FORK_EPOCH',
    upgrade: (state: CachedBeaconStateAllForks) => upgradeStateToBellatrix(state as CachedBeaconStateAltair),
  },
  {
    step: 'upgrade_capella',
    epoch: 'CAPELLA_FORK_EPOCH',
    upgrade: (state: CachedBeaconStateAllForks) => upgradeStateToCapella(state as CachedBeaconStateBellatrix),
  },
  {
    step: 'upgrade_deneb',
    epoch: 'DENEB_FORK_EPOCH',
    upgrade: (state: CachedBeaconStateAllForks) => upgradeStateToDeneb(state as CachedBeaconStateCapella),
  },
  {
    step: 'upgrade_electra',
    epoch: 'ELECTRA_FORK_EPOCH',
    upgrade: (state: CachedBeaconStateAllForks) => upgradeStateToElectra(state as CachedBeaconStateDeneb),
  },
  {
    step: 'upgrade_fulu',
    epoch: 'FULU_FORK_EPOCH',
    upgrade: (state: CachedBeaconStateAllForks) => upgradeStateToFulu(state as CachedBeaconStateElectra),
  },
] as const

/**
 * process_epoch in the specification's order: the reference's own subtracts the correlation penalties together with the rewards, here
 * they are a step of their own.
 */
function processEpoch(
  state: CachedBeaconStateAllForks,
  cache: EpochTransitionCache,
  changes: BalanceChanges,
  observer: EpochObserver,
): void {
  const fork = state.config.getForkSeq(state.slot)
  const altair = state as CachedBeaconStateAltair
  const electra = state as CachedBeaconStateElectra
  const step = (name: Step, process: () => void) => {
    observer.before(name, state, cache)
    process()
    changes.record(state, name, state.slot + 1) // the first slot of the epoch that begins
    observer.after(name, state, cache)
  }
  processJustificationAndFinalization(state, cache)
  processInactivityUpdates(altair, cache)
  rewardsAndPenalties(state, cache, changes, observer)
  processRegistryUpdates(fork, state, cache)
  step('slashings', () => {
    processSlashings(state, cache, true)
    if (cache.balances !== undefined) cache.balances = state.balances.getAll()
  })
  processEth1DataReset(state, cache)
  if (fork >= ForkSeq.electra) {
    step('pending_deposits', () => processPendingDeposits(electra, cache))
    step('pending_consolidations', () => processPendingConsolidations(electra, cache))
  }
  processEffectiveBalanceUpdates(fork, state, cache)
  processSlashingsReset(state, cache)
  processRandaoMixesReset(state, cache)
  if (fork >= ForkSeq.capella) processHistoricalSummariesUpdate(state as CachedBeaconStateCapella, cache)
  else processHistoricalRootsUpdate(state, cache)
  processParticipationFlagUpdates(altair)
  processSyncCommitteeUpdates(fork, altair)
  if (fork >= ForkSeq.fulu) processProposerLookahead(fork, state as CachedBeaconStateFulu, cache)
  changes.assertComplete(state)
}

/** Moves the state, which is changed, to the next slot; the state to go on with is another one after an upgrade. */
export function nextSlot(
  state: CachedBeaconStateAllForks,
  changes: BalanceChanges,
  observer: EpochObserver,
): CachedBeaconStateAllForks {
  processSlot(state.config.getForkSeq(state.slot), state)
  if ((state.slot + 1) % SLOTS_PER_EPOCH !== 0) {
    state.slot++
    return state
  }
  const cache = beforeProcessEpoch(state)
  processEpoch(state, cache, changes, observer)
  state.slot++
  state.epochCtx.afterProcessEpoch(state, cache)
  state.commit()
  let next = state
  for (const { step, epoch, upgrade } of UPGRADES) {
    if (state.config[epoch] !== state.slot / SLOTS_PER_EPOCH) continue
    observer.before(step, next, cache)
    next = upgrade(next)
    changes.record(next, step)
    observer.after(step, next, cache)
  }
  next.epochCtx.finalProcessEpoch(next, cache)
  next.commit()
  return next
}
