import { AppError } from '../../errors.ts'
import { lend, lendZeros } from '../../memory.ts'
import type { ReplayedBalances } from './effects.ts'
import { type ChainRules, type ForkRules, INCREMENT_GWEI, INCREMENTS_MAX } from './fork-rules.ts'
import {
  activeSums,
  activity,
  baseRewardPerIncrement,
  HEAD_FLAG,
  HEAD_WEIGHT,
  SOURCE_FLAG,
  SOURCE_WEIGHT,
  type StateColumns,
  TARGET_FLAG,
  TARGET_WEIGHT,
  totalActive,
  UNSET_EPOCH,
  WEIGHT_DENOMINATOR,
} from './state-columns.ts'

const FLAGS = [
  { bit: SOURCE_FLAG, votes: 'source', weight: SOURCE_WEIGHT, isPenalized: true },
  { bit: TARGET_FLAG, votes: 'target', weight: TARGET_WEIGHT, isPenalized: true },
  { bit: HEAD_FLAG, votes: 'head', weight: HEAD_WEIGHT, isPenalized: false },
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
  return { ...lendDeltas(validators, 0), idealGwei: 0 }
}

/** Columns for so many validators. What flags bring the first `told` of them is whatever the memory has: it is to be written of each. */
function lendDeltas(validators: number, told: number) {
  const ofFlag = () => lend(Int32Array, validators).fill(0, told)
  const inactivityGwei = lendZeros(Float64Array, validators)
  return { sourceGwei: ofFlag(), targetGwei: ofFlag(), headGwei: ofFlag(), inactivityGwei }
}

/**
 * Effective balance, in increments, of those that voted, were active in the epoch that they voted in and are not slashed; 1 at least
 * (get_unslashed_participating_indices, get_total_balance).
 */
interface ParticipatedIncrements {
  /** In the epoch before the state's. */
  readonly source: number
  readonly target: number
  readonly head: number
  /** In the state's own epoch. */
  readonly currentTarget: number
}

/** What the transition out of a state's epoch goes by. */
export interface TransitionFacts {
  /** The state's own epoch. */
  readonly epoch: number
  /** Effective balance of all that are active in it, in increments; 1 at least. */
  readonly activeIncrements: number
  readonly participated: ParticipatedIncrements
  /** As the transition leaves it: its rewards, scores and queue of deposits go by that. */
  readonly finalizedEpoch: number
  readonly isLeaking: boolean
}

/** Justifies and finalizes (consensus-specs, weigh_justification_and_finalization), which comes first in a transition. */
export function transitionFacts(state: StateColumns, rules: ChainRules): TransitionFacts {
  const epoch = Math.floor(state.slot / rules.slotsPerEpoch)
  const total = totalActive(activeSums(state, epoch))
  const participated = participatedIncrements(state, epoch)
  const finalizedEpoch = finalizedAfter(state, { epoch, total, participated })
  const previousEpoch = Math.max(GENESIS_EPOCH, epoch - 1)
  const isLeaking = previousEpoch - finalizedEpoch > rules.minEpochsToInactivityPenalty
  return { epoch, activeIncrements: total, participated, finalizedEpoch, isLeaking }
}

function finalizedAfter(
  { checkpoints }: StateColumns,
  { epoch, total, participated }: { epoch: number; total: number; participated: ParticipatedIncrements },
): number {
  const { justificationBits, previousJustifiedEpoch, currentJustifiedEpoch, finalizedEpoch } = checkpoints
  if (epoch <= GENESIS_EPOCH + 1) return finalizedEpoch
  const isJustified = (increments: number) => increments * 3 >= total * 2
  const bits =
    ((justificationBits << 1) & 0b1111) |
    (isJustified(participated.target) ? 0b10 : 0) |
    (isJustified(participated.currentTarget) ? 0b1 : 0)
  const has = (mask: number) => (bits & mask) === mask
  let finalized = finalizedEpoch
  if (has(0b1110) && previousJustifiedEpoch + 3 === epoch) finalized = previousJustifiedEpoch
  if (has(0b0110) && previousJustifiedEpoch + 2 === epoch) finalized = previousJustifiedEpoch
  if (has(0b0111) && currentJustifiedEpoch + 2 === epoch) finalized = currentJustifiedEpoch
  if (has(0b0011) && currentJustifiedEpoch + 1 === epoch) finalized = currentJustifiedEpoch
  return finalized
}

function participatedIncrements(state: StateColumns, epoch: number): ParticipatedIncrements {
  const { validators, effectiveIncrements, activationEpochs, exitEpochs, slashed } = state
  const { previousParticipation, currentParticipation } = state
  let [source, target, head, currentTarget] = [0, 0, 0, 0]
  for (let i = 0; i < validators; i++) {
    const [begin, end] = [activationEpochs[i] as number, exitEpochs[i] as number]
    const increments = (effectiveIncrements[i] as number) * Number(slashed[i] === 0)
    const before = increments * activity(begin, end, epoch - 1)
    const previous = previousParticipation[i] as number
    source += before * Number((previous & SOURCE_FLAG) !== 0)
    target += before * Number((previous & TARGET_FLAG) !== 0)
    head += before * Number((previous & HEAD_FLAG) !== 0)
    const now = increments * activity(begin, end, epoch)
    currentTarget += now * Number(((currentParticipation[i] as number) & TARGET_FLAG) !== 0)
  }
  const atLeastOne = (increments: number) => Math.max(1, increments)
  return {
    source: atLeastOne(source),
    target: atLeastOne(target),
    head: atLeastOne(head),
    currentTarget: atLeastOne(currentTarget),
  }
}

/** Of a table of deltas: source, target and head. */
const ROW = FLAGS.length
/** How many sets of flags there are. */
const FLAG_SETS = 8

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
  if (epoch === GENESIS_EPOCH) return noDeltas(balances.gwei.length)
  const { validators, effectiveIncrements, previousParticipation, slashed, activationEpochs, exitEpochs } = state
  const columns = lendDeltas(balances.gwei.length, validators)
  const { sourceGwei, targetGwei, headGwei, inactivityGwei } = columns
  const { deltas, ideals } = deltaTable(rules, facts)
  const inactivityDivisor = rules.inactivityScoreBias * fork.inactivityQuotient
  const previousEpoch = epoch - 1
  let idealGwei = 0
  for (let i = 0; i < validators; i++) {
    const hadDuty = activity(activationEpochs[i] as number, exitEpochs[i] as number, previousEpoch)
    const increments = effectiveIncrements[i] as number
    idealGwei += hadDuty * (ideals[increments] as number)
    let [isEligible, flags] = [hadDuty, (previousParticipation[i] as number) & (FLAG_SETS - 1)]
    if (slashed[i] !== 0) {
      isEligible |= Number(epoch < withdrawableOf(state, i))
      flags = 0
    }
    const at = isEligible * (1 + increments * FLAG_SETS + flags) * ROW
    const source = deltas[at] as number
    const target = deltas[at + 1] as number
    const head = deltas[at + 2] as number
    const lost = Math.min(0, source) + Math.min(0, target)
    if (balances.applyWhole(i, source + target + head, lost)) {
      sourceGwei[i] = source
      targetGwei[i] = target
      headGwei[i] = head
    } else {
      sourceGwei[i] = balances.apply(i, source)
      targetGwei[i] = balances.apply(i, target)
      headGwei[i] = balances.apply(i, head)
    }
    if ((isEligible & ~(flags >> 1) & 1) === 0) continue
    const score = scoreAfterMiss(state.inactivityScores[i] as number, rules, isLeaking)
    const penalty = inactivityPenalty(increments, score, inactivityDivisor)
    if (penalty !== 0) inactivityGwei[i] = balances.apply(i, -penalty)
  }
  return { ...columns, idealGwei }
}

function withdrawableOf(state: StateColumns, index: number): number {
  const epoch = state.withdrawableEpochs[index] as number
  return epoch === UNSET_EPOCH ? Number.POSITIVE_INFINITY : epoch
}

/** What votes bring and cost those that are eligible: these differ in nothing but their effective balances and their flags. */
interface DeltaTable {
  /** Gwei, in rows: the first is of those that are not eligible (neither on duty nor slashed and not yet withdrawable), behind it those of each effective balance in increments, one for each set of flags. */
  readonly deltas: Int32Array
  /** What all flags together would have brought, by effective balance in increments, gwei. */
  readonly ideals: Float64Array
}

function deltaTable(rules: ChainRules, facts: TransitionFacts): DeltaTable {
  const deltas = new Int32Array(ROW * (1 + FLAG_SETS * (INCREMENTS_MAX + 1)))
  const ideals = new Float64Array(INCREMENTS_MAX + 1)
  FLAGS.forEach((flag, part) => {
    const { rewards, penalties } = tableOf(flag, rules, facts)
    for (let increments = 0; increments <= INCREMENTS_MAX; increments++) {
      ideals[increments] = (ideals[increments] as number) + (rewards[increments] as number)
      for (let flags = 0; flags < FLAG_SETS; flags++) {
        const column = (flags & flag.bit) !== 0 ? rewards : penalties
        deltas[ROW * (1 + increments * FLAG_SETS + flags) + part] = column[increments] as number
      }
    }
  })
  return { deltas, ideals }
}

interface FlagTable {
  /** By effective balance in increments, gwei. */
  readonly rewards: Float64Array
  /** Zero or negative. */
  readonly penalties: Float64Array
}

function tableOf(
  { weight, isPenalized, votes }: (typeof FLAGS)[number],
  rules: ChainRules,
  { activeIncrements: total, participated, isLeaking }: TransitionFacts,
): FlagTable {
  const perIncrement = baseRewardPerIncrement(rules.baseRewardFactor, total, INCREMENT_GWEI)
  const rewards = new Float64Array(INCREMENTS_MAX + 1)
  const penalties = new Float64Array(INCREMENTS_MAX + 1)
  for (let increments = 0; increments <= INCREMENTS_MAX; increments++) {
    const weighted = increments * perIncrement * weight
    if (!isLeaking) rewards[increments] = quotient(weighted, participated[votes], total * WEIGHT_DENOMINATOR)
    if (isPenalized) penalties[increments] = -Math.floor(weighted / WEIGHT_DENOMINATOR)
  }
  const most = Math.max(rewards[INCREMENTS_MAX] as number, -(penalties[INCREMENTS_MAX] as number))
  if (most > FLAG_GWEI_MAX)
    throw new AppError('usage', `a vote may be worth ${most} gwei on this chain, and ${FLAG_GWEI_MAX} are the limit`)
  return { rewards, penalties }
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
