import { AppError } from '../../errors.ts'
import { lendZeros } from '../../memory.ts'
import type { ReplayedBalances } from './effects.ts'
import { type ChainRules, type ForkRules, INCREMENT_GWEI, INCREMENTS_MAX } from './fork-rules.ts'
import {
  activeIncrements,
  baseRewardPerIncrement,
  HEAD_FLAG,
  isActive,
  SOURCE_FLAG,
  type StateColumns,
  TARGET_FLAG,
  UNSET_EPOCH,
} from './state-columns.ts'

/** Weights of the flags, out of 64 (consensus-specs, altair). */
const WEIGHT_DENOMINATOR = 64
const FLAGS = [
  { bit: SOURCE_FLAG, weight: 14, isPenalized: true },
  { bit: TARGET_FLAG, weight: 26, isPenalized: true },
  { bit: HEAD_FLAG, weight: 14, isPenalized: false },
] as const
const GENESIS_EPOCH = 0
/** Below it a product of integers is exact in a double. */
const EXACT_MAX = Number.MAX_SAFE_INTEGER

/** What a flag brings or costs has 32 bits: by mainnet's factor it is 1.7 ETH at most, of 2,048 where 1 is active. */
const FLAG_GWEI_MAX = 2 ** 31 - 1

/** A transition's attestation rewards and penalties as they were applied, gwei, a value per validator; penalties are negative. */
export interface AttestationDeltas {
  readonly sourceGwei: Int32Array
  readonly targetGwei: Int32Array
  readonly headGwei: Int32Array
  /** In a leak of months it is above 32 bits. */
  readonly inactivityGwei: Float64Array
  /** What the duties of all validators had brought with every vote right and in time: by their effective balances and what took part. */
  readonly idealGwei: number
}

/** Of a transition that rewards nobody; a value per validator. */
export function noDeltas(validators: number): AttestationDeltas {
  const zeros = () => lendZeros(Int32Array, validators)
  const inactivityGwei = lendZeros(Float64Array, validators)
  return { sourceGwei: zeros(), targetGwei: zeros(), headGwei: zeros(), inactivityGwei, idealGwei: 0 }
}

/** What the transition out of a state's epoch goes by. */
export interface TransitionFacts {
  /** The state's own epoch. */
  readonly epoch: number
  /** Effective balance of all that are active in it, in increments. */
  readonly activeIncrements: number
  /** As the transition leaves it: its rewards, scores and queue of deposits go by that. */
  readonly finalizedEpoch: number
  readonly isLeaking: boolean
}

/** Justifies and finalizes (consensus-specs, weigh_justification_and_finalization), which comes first in a transition. */
export function transitionFacts(state: StateColumns, rules: ChainRules): TransitionFacts {
  const epoch = Math.floor(state.slot / rules.slotsPerEpoch)
  const total = activeIncrements(state, epoch)
  const finalizedEpoch = finalizedAfter(state, epoch, total)
  const previousEpoch = Math.max(GENESIS_EPOCH, epoch - 1)
  const isLeaking = previousEpoch - finalizedEpoch > rules.minEpochsToInactivityPenalty
  return { epoch, activeIncrements: total, finalizedEpoch, isLeaking }
}

function finalizedAfter(state: StateColumns, epoch: number, total: number): number {
  const { justificationBits, previousJustifiedEpoch, currentJustifiedEpoch, finalizedEpoch } = state.checkpoints
  if (epoch <= GENESIS_EPOCH + 1) return finalizedEpoch
  const isJustified = (participation: Uint8Array, of: number) =>
    participating(state, participation, TARGET_FLAG, of) * 3 >= total * 2
  const bits =
    ((justificationBits << 1) & 0b1111) |
    (isJustified(state.previousParticipation, epoch - 1) ? 0b10 : 0) |
    (isJustified(state.currentParticipation, epoch) ? 0b1 : 0)
  const has = (mask: number) => (bits & mask) === mask
  let finalized = finalizedEpoch
  if (has(0b1110) && previousJustifiedEpoch + 3 === epoch) finalized = previousJustifiedEpoch
  if (has(0b0110) && previousJustifiedEpoch + 2 === epoch) finalized = previousJustifiedEpoch
  if (has(0b0111) && currentJustifiedEpoch + 2 === epoch) finalized = currentJustifiedEpoch
  if (has(0b0011) && currentJustifiedEpoch + 1 === epoch) finalized = currentJustifiedEpoch
  return finalized
}

/** Effective balance, in increments, of those that were active in the epoch, are not slashed and have the flag; 1 at least. */
function participating(state: StateColumns, participation: Uint8Array, flag: number, epoch: number): number {
  const { validators, effectiveIncrements, activationEpochs, exitEpochs, slashed } = state
  let sum = 0
  for (let i = 0; i < validators; i++) {
    if (((participation[i] as number) & flag) === 0 || slashed[i] !== 0) continue
    if ((activationEpochs[i] as number) <= epoch && epoch < (exitEpochs[i] as number))
      sum += effectiveIncrements[i] as number
  }
  return Math.max(1, sum)
}

/**
 * Applies attestation rewards and penalties, and those for inactivity, of the transition out of the state's epoch (consensus-specs, altair:
 * process_inactivity_updates, get_flag_index_deltas, get_inactivity_penalty_deltas). A validator's four parts are applied one after
 * the other, each reward before its penalty, so that one on an empty balance costs what is there. Throws AppError `usage` for a chain
 * whose factor makes a flag's reward more than 32 bits.
 */
export function applyAttestationDeltas(
  state: StateColumns,
  balances: ReplayedBalances,
  { rules, fork, facts }: { readonly rules: ChainRules; readonly fork: ForkRules; readonly facts: TransitionFacts },
): AttestationDeltas {
  const { epoch, isLeaking } = facts
  const { validators, effectiveIncrements, previousParticipation, slashed } = state
  const deltas = noDeltas(balances.gwei.length)
  if (epoch === GENESIS_EPOCH) return deltas
  const previousEpoch = epoch - 1
  const parts = FLAGS.map((flag) => tableOf(state, flag, rules, facts))
  const columns = [deltas.sourceGwei, deltas.targetGwei, deltas.headGwei]
  const inactivityDivisor = rules.inactivityScoreBias * fork.inactivityQuotient
  const ideals = Float64Array.from({ length: INCREMENTS_MAX + 1 }, (_, increments) =>
    parts.reduce((sum, { rewards }) => sum + (rewards[increments] as number), 0),
  )
  let idealGwei = 0
  for (let i = 0; i < validators; i++) {
    const isSlashed = slashed[i] !== 0
    const hadDuty = isActive(state, i, previousEpoch)
    if (!hadDuty && !(isSlashed && previousEpoch + 1 < withdrawableOf(state, i))) continue
    const increments = effectiveIncrements[i] as number
    if (hadDuty) idealGwei += ideals[increments] as number
    const flags = isSlashed ? 0 : (previousParticipation[i] as number)
    for (let part = 0; part < FLAGS.length; part++) {
      const { bit, rewards, penalties } = parts[part] as FlagTable
      const gwei = (flags & bit) !== 0 ? rewards[increments] : penalties[increments]
      const column = columns[part] as Int32Array
      column[i] = balances.apply(i, gwei as number)
    }
    if ((flags & TARGET_FLAG) !== 0) continue
    const score = scoreAfterMiss(state.inactivityScores[i] as number, rules, isLeaking)
    const penalty = inactivityPenalty(increments, score, inactivityDivisor)
    if (penalty !== 0) deltas.inactivityGwei[i] = balances.apply(i, -penalty)
  }
  return { ...deltas, idealGwei }
}

function withdrawableOf(state: StateColumns, index: number): number {
  const epoch = state.withdrawableEpochs[index] as number
  return epoch === UNSET_EPOCH ? Number.POSITIVE_INFINITY : epoch
}

interface FlagTable {
  readonly bit: number
  /** By effective balance in increments, gwei. */
  readonly rewards: Float64Array
  /** Zero or negative. */
  readonly penalties: Float64Array
}

/** What a flag brings and costs, by effective balance: validators differ in nothing else. */
function tableOf(
  state: StateColumns,
  { bit, weight, isPenalized }: (typeof FLAGS)[number],
  rules: ChainRules,
  { epoch, activeIncrements: total, isLeaking }: TransitionFacts,
): FlagTable {
  const perIncrement = baseRewardPerIncrement(rules.baseRewardFactor, total, INCREMENT_GWEI)
  const participated = participating(state, state.previousParticipation, bit, epoch - 1)
  const rewards = new Float64Array(INCREMENTS_MAX + 1)
  const penalties = new Float64Array(INCREMENTS_MAX + 1)
  for (let increments = 0; increments <= INCREMENTS_MAX; increments++) {
    const weighted = increments * perIncrement * weight
    if (!isLeaking) rewards[increments] = quotient(weighted, participated, total * WEIGHT_DENOMINATOR)
    if (isPenalized) penalties[increments] = -Math.floor(weighted / WEIGHT_DENOMINATOR)
  }
  const most = Math.max(rewards[INCREMENTS_MAX] as number, -(penalties[INCREMENTS_MAX] as number))
  if (most > FLAG_GWEI_MAX)
    throw new AppError('usage', `a vote may be worth ${most} gwei on this chain, and ${FLAG_GWEI_MAX} are the limit`)
  return { bit, rewards, penalties }
}

/** The score that the penalty uses of a validator that missed the target: updated before it (process_inactivity_updates). */
function scoreAfterMiss(score: number, rules: ChainRules, isLeaking: boolean): number {
  const raised = score + rules.inactivityScoreBias
  return isLeaking ? raised : raised - Math.min(rules.inactivityScoreRecoveryRate, raised)
}

function inactivityPenalty(increments: number, score: number, divisor: number): number {
  return score === 0 ? 0 : quotient(increments * INCREMENT_GWEI, score, divisor)
}

/** `floor(a * b / divisor)`, exact; the product may be above 2^53. */
export function quotient(a: number, b: number, divisor: number): number {
  const product = a * b
  if (product <= EXACT_MAX) return Math.floor(product / divisor)
  return Number((BigInt(a) * BigInt(b)) / BigInt(divisor))
}
