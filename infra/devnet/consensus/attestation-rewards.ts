import {
  EFFECTIVE_BALANCE_INCREMENT,
  INACTIVITY_PENALTY_QUOTIENT_BELLATRIX,
  MIN_EPOCHS_TO_INACTIVITY_PENALTY,
  TIMELY_HEAD_WEIGHT,
  TIMELY_SOURCE_WEIGHT,
  TIMELY_TARGET_WEIGHT,
  WEIGHT_DENOMINATOR,
} from '@lodestar/params'
import {
  type CachedBeaconStateFulu,
  computeBaseRewardPerIncrement,
  FLAG_ELIGIBLE_ATTESTER,
  FLAG_PREV_HEAD_ATTESTER_UNSLASHED,
  FLAG_PREV_SOURCE_ATTESTER_UNSLASHED,
  FLAG_PREV_TARGET_ATTESTER_UNSLASHED,
  hasMarkers,
} from '@lodestar/state-transition'

/** Per effective balance: what a perfect attester of the epoch gets, in gwei. */
export interface IdealReward {
  readonly effectiveBalanceGwei: number
  readonly head: number
  readonly target: number
  readonly source: number
}

/** Attestation rewards of one epoch, in gwei, as they were applied; arrays are indexed by validator. */
export interface AttestationRewards {
  readonly epoch: number
  /** 1 where the validator was active in the epoch, or slashed and not yet withdrawable; the others have no duty. */
  readonly eligible: Uint8Array
  readonly head: Int32Array
  readonly target: Int32Array
  readonly source: Int32Array
  readonly inactivity: Int32Array
  readonly ideal: readonly IdealReward[]
}

/** What the epoch transition saw: its participation flags, and the effective balances from before its own update. */
export interface TransitionFacts {
  /** The epoch that ends with the transition; its predecessor's attestations are rewarded. */
  readonly currentEpoch: number
  readonly flags: Uint8Array
  readonly activeInCurrentEpoch: readonly boolean[]
  readonly increments: ArrayLike<number>
}

function stakeWith(facts: TransitionFacts, includes: (validator: number) => boolean): number {
  let stake = 0
  for (let i = 0; i < facts.flags.length; i++) if (includes(i)) stake += facts.increments[i] as number
  return Math.max(1, stake) // get_total_balance: at least one increment
}

/**
 * The components of process_rewards_and_penalties (consensus-specs, altair/beacon-chain.md, get_flag_index_deltas and
 * get_inactivity_penalty_deltas), one by one. `computeAttestationsRewards` of the state transition library is not used: it rounds to
 * the nearest gwei where the transition rounds down, and it takes Altair's inactivity quotient, so its figures do not add up to
 * the balances. A penalty larger than the balance cannot occur: who is eligible holds at least the ejection balance.
 */
export function attestationRewards(facts: TransitionFacts, after: CachedBeaconStateFulu): AttestationRewards {
  const { flags, increments } = facts
  const has = (validator: number, marker: number) => hasMarkers(flags[validator] as number, marker)
  const activeStake = stakeWith(facts, (i) => facts.activeInCurrentEpoch[i] === true)
  const perIncrement = computeBaseRewardPerIncrement(activeStake)
  const epoch = facts.currentEpoch - 1
  const leaking = epoch - after.finalizedCheckpoint.epoch > MIN_EPOCHS_TO_INACTIVITY_PENALTY
  const inactivityDenominator = after.config.INACTIVITY_SCORE_BIAS * INACTIVITY_PENALTY_QUOTIENT_BELLATRIX

  const components = [
    { name: 'head', marker: FLAG_PREV_HEAD_ATTESTER_UNSLASHED, weight: TIMELY_HEAD_WEIGHT },
    { name: 'target', marker: FLAG_PREV_TARGET_ATTESTER_UNSLASHED, weight: TIMELY_TARGET_WEIGHT },
    { name: 'source', marker: FLAG_PREV_SOURCE_ATTESTER_UNSLASHED, weight: TIMELY_SOURCE_WEIGHT },
  ].map((component) => ({ ...component, stake: stakeWith(facts, (i) => has(i, component.marker)) }))
  const rewardFor = (increment: number, weight: number, stake: number) =>
    leaking ? 0 : Math.floor((increment * perIncrement * weight * stake) / (activeStake * WEIGHT_DENOMINATOR))

  const columns = {
    head: new Int32Array(flags.length),
    target: new Int32Array(flags.length),
    source: new Int32Array(flags.length),
  }
  const inactivity = new Int32Array(flags.length)
  const eligible = new Uint8Array(flags.length)
  for (let i = 0; i < flags.length; i++) {
    if (!has(i, FLAG_ELIGIBLE_ATTESTER)) continue
    eligible[i] = 1
    const increment = increments[i] as number
    for (const { name, marker, weight, stake } of components) {
      const column = columns[name as keyof typeof columns]
      if (has(i, marker)) column[i] = rewardFor(increment, weight, stake)
      else if (name !== 'head') column[i] = -Math.floor((increment * perIncrement * weight) / WEIGHT_DENOMINATOR)
    }
    // The scores after the transition are those it used: they are updated before the rewards and not again.
    if (!has(i, FLAG_PREV_TARGET_ATTESTER_UNSLASHED)) {
      const score = after.inactivityScores.get(i)
      inactivity[i] = -Math.floor((increment * EFFECTIVE_BALANCE_INCREMENT * score) / inactivityDenominator) || 0
    }
  }
  const ideal = [...new Set(Array.from(increments))]
    .sort((a, b) => a - b)
    .map((increment) => {
      const [head = 0, target = 0, source = 0] = components.map((c) => rewardFor(increment, c.weight, c.stake))
      return { effectiveBalanceGwei: increment * EFFECTIVE_BALANCE_INCREMENT, head, target, source }
    })
  return { epoch, eligible, ...columns, inactivity, ideal }
}
