import type { TransitionFacts } from './attestation-deltas.ts'
import type { EffectKind, ReplayedBalances } from './effects.ts'
import { type ChainRules, type ForkRules, INCREMENT_GWEI, isFrom, type QueueRules } from './fork-rules.ts'
import type { Newcomers } from './newcomers.ts'
import {
  COMPOUNDING_PREFIX,
  isActive,
  type PendingStateDeposit,
  type StateColumns,
  type StateQueues,
  UNSET_EPOCH,
} from './state-columns.ts'

/** A signature that no deposit can have: the chain's own queued balances carry it (consensus-specs, electra, G2_POINT_AT_INFINITY). */
const INFINITY_FIRST_BYTE = 0xc0

/** What a transition out of `before` needs beside it. */
export interface TransitionParts {
  readonly before: StateColumns
  readonly after: StateColumns
  readonly rules: ChainRules
  readonly balances: ReplayedBalances
  readonly facts: TransitionFacts
  /** First slot of the epoch that the transition leads into: what it does belongs there. */
  readonly slot: number
  readonly newcomers: Newcomers
}

/**
 * Correlation penalties of those whose slashing is half-way to withdrawable (consensus-specs, process_slashings; Electra rounds by increment
 * of the total first).
 */
export function applyCorrelationPenalties(
  { before, rules, balances, facts, slot }: TransitionParts,
  { slashingMultiplier }: ForkRules,
): void {
  const halfWay = facts.epoch + Math.floor(rules.epochsPerSlashingsVector / 2)
  const increment = BigInt(INCREMENT_GWEI)
  const totalGwei = BigInt(facts.activeIncrements) * increment
  const scaled = before.slashingsGwei * BigInt(slashingMultiplier)
  const adjusted = scaled < totalGwei ? scaled : totalGwei
  const perIncrement = adjusted / BigInt(facts.activeIncrements)
  for (let index = 0; index < before.validators; index++) {
    if (before.slashed[index] === 0 || before.withdrawableEpochs[index] !== halfWay) continue
    const increments = BigInt(before.effectiveIncrements[index] as number)
    const penalty = isFrom(before.fork, 'electra')
      ? perIncrement * increments
      : ((increments * adjusted) / totalGwei) * increment
    balances.record({
      slot,
      validatorIndex: index,
      kind: 'slashing_correlation',
      reference: 0,
      gwei: -Number(penalty),
    })
  }
}

/** `process_pending_deposits` (consensus-specs, electra): what the walk over the queue credits. */
export function applyPendingDeposits(parts: TransitionParts, queues: StateQueues, rules: QueueRules): void {
  const { before, facts, newcomers } = parts
  const available = queues.depositBalanceToConsumeGwei + activationChurn(facts.activeIncrements, rules)
  const awaitsBridge = !isFrom(before.fork, 'fulu') && queues.eth1DepositIndex < queues.depositRequestsStartIndex
  const finalizedSlot = facts.finalizedEpoch * parts.rules.slotsPerEpoch
  let used = 0n
  const handled: PendingStateDeposit[] = []
  for (const deposit of queues.deposits.slice(0, rules.depositsPerEpochMax)) {
    if ((deposit.slot > 0 && awaitsBridge) || deposit.slot > finalizedSlot) break
    const index = knownBefore(parts, deposit.pubkey)
    const isWithdrawn = index !== undefined && (before.withdrawableEpochs[index] as number) < facts.epoch + 1
    if (!isWithdrawn && index !== undefined && isLeaving(before, index, facts.epoch, rules)) continue
    if (!isWithdrawn) {
      used += BigInt(deposit.amountGwei)
      if (used > available) break
    }
    handled.push(deposit)
  }
  handled.forEach((deposit, reference) => {
    const validatorIndex = newcomers.creditedTo(deposit)
    if (validatorIndex === undefined) return
    const kind: EffectKind = isInternal(deposit) ? 'returned_from_queue' : 'deposit'
    parts.balances.record({ slot: parts.slot, validatorIndex, kind, reference, gwei: deposit.amountGwei })
  })
}

/** Whether the chain queued this balance itself: bridge deposits have slot 0, too. */
function isInternal({ slot, signature }: PendingStateDeposit): boolean {
  return slot === 0 && signature[0] === INFINITY_FIRST_BYTE && signature.subarray(1).every((byte) => byte === 0)
}

/** Exiting, or ejected by this very transition: registry updates come before deposits. */
function isLeaving(before: StateColumns, index: number, epoch: number, rules: QueueRules): boolean {
  if (before.exitEpochs[index] !== UNSET_EPOCH) return true
  const effectiveGwei = (before.effectiveIncrements[index] as number) * INCREMENT_GWEI
  return isActive(before, index, epoch) && effectiveGwei <= rules.ejectionBalanceGwei
}

function knownBefore({ before, after }: TransitionParts, pubkey: Uint8Array): number | undefined {
  const index = after.indexOf(pubkey)
  return index !== undefined && index < before.validators ? index : undefined
}

/** get_activation_exit_churn_limit (consensus-specs, electra), gwei. */
function activationChurn(totalIncrements: number, rules: QueueRules): bigint {
  const increment = BigInt(INCREMENT_GWEI)
  const share = (BigInt(totalIncrements) * increment) / rules.churnQuotient
  const churn = share > rules.churnMinGwei ? share : rules.churnMinGwei
  const whole = churn - (churn % increment)
  return whole < rules.activationExitChurnMaxGwei ? whole : rules.activationExitChurnMaxGwei
}

/** `process_pending_consolidations` (consensus-specs, electra): at most the effective balance moves, what is above it stays. */
export function applyPendingConsolidations(parts: TransitionParts, { consolidations }: StateQueues): void {
  const { before, balances, facts, slot } = parts
  for (const [reference, { sourceIndex, targetIndex }] of consolidations.entries()) {
    if (before.slashed[sourceIndex] !== 0) continue
    if ((before.withdrawableEpochs[sourceIndex] as number) > facts.epoch + 1) break
    const effectiveGwei = (before.effectiveIncrements[sourceIndex] as number) * INCREMENT_GWEI
    const gwei = Math.min(balances.gwei[sourceIndex] as number, effectiveGwei)
    balances.record({ slot, validatorIndex: sourceIndex, kind: 'consolidation_out', reference, gwei: -gwei })
    balances.record({ slot, validatorIndex: targetIndex, kind: 'consolidation_in', reference, gwei })
  }
}

/**
 * What the upgrade to Electra moves into the queue (consensus-specs, upgrade_to_electra): the whole balance of each validator without an
 * activation epoch, and what early compounding ones have above the activation balance.
 */
export function applyElectraUpgrade(parts: TransitionParts, { activationBalanceMinGwei }: QueueRules): void {
  const { before, after, balances, slot } = parts
  for (let index = 0; index < before.validators; index++) {
    const gwei = balances.gwei[index] as number
    // Activations of the same transition count, and nothing of the epoch behind the upgrade sets one.
    const isWaiting = after.activationEpochs[index] === UNSET_EPOCH
    const isCompounding = before.credentialPrefixes[index] === COMPOUNDING_PREFIX
    const kept = isWaiting ? 0 : isCompounding ? activationBalanceMinGwei : gwei
    if (gwei > kept)
      balances.record({ slot, validatorIndex: index, kind: 'moved_to_queue', reference: 0, gwei: kept - gwei })
  }
}
