import { firstEffectEpoch, joinChurnQueue } from '../../schemas/eth/churn.ts'
import { fixedEpoch } from '../../schemas/eth/far-future.ts'
import { activationEpochAfter, NEVER } from '../../schemas/eth/pending-deposits.ts'
import { type ChainClock, epochOf, firstSlotOfEpoch, formatInstant, slotTimeSec } from '../../schemas/eth/time.ts'
import { estimateSweep } from '../../schemas/eth/withdrawal-sweep.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import { prefixOfPubkey } from '../../schemas/queue-rules.ts'
import type { ValidatorDetail } from '../../schemas/routes/validators/validator-details.ts'
import type { QueueFacts } from '../../schemas/tables/chain-queues.ts'
import type { ValidatorState } from '../http/validator-states.ts'

export interface EstimatedValidator {
  readonly pubkey: string
  /** Its state at the horizon; undefined while the registry has none. */
  readonly registered: ValidatorState | undefined
  /** Of the block with its first deposit, where one is known. */
  readonly depositSlot: number | undefined
  /** Whether its exit was asked for; what the chain has of it tells its state. */
  readonly isNeedExit: boolean
}

export interface EstimatesAround {
  readonly horizon: { readonly clock: ChainClock; readonly epoch: number } | undefined
  /** What waits at the head; undefined where nobody has told it. */
  readonly facts: QueueFacts | undefined
  /** Slots of last withdrawals of those who have nothing left, by index. */
  readonly swept: ReadonlyMap<number, number>
  /** What the account's validators hold together whose exits were asked for and have no epoch at the head: one waits for the others. */
  readonly exitingGwei?: bigint
}

type StatusEstimates = ValidatorDetail['status_estimates']

/** Last instant that ISO 8601 writes with four digits of year. */
const INSTANT_SEC_MAX = 253_402_300_799

/**
 * When a validator becomes active, has left, and is paid out. Null before it is funded, and of its exit while nobody has asked for one; exact,
 * with an error of 0, once the chain has fixed the epoch or has paid for good; what the head has fixed, which may be reverted, with the error of an
 * epoch; otherwise what follows from the queues at the head.
 */
export function statusEstimates(validator: EstimatedValidator, around: EstimatesAround): StatusEstimates {
  const clock = around.horizon?.clock ?? around.facts?.clock
  const activation = activeAt(validator, around)
  const leaving = exitAt(validator, around, activation)
  const active = toldOf(clock, activation)
  const exit = toldOf(clock, leaving)
  const withdrawal = toldOf(clock, withdrawalAt(validator, around, leaving))
  return {
    estimated_active_at: active.at,
    estimated_exit_at: exit.at,
    estimated_withdrawal_at: withdrawal.at,
    error_seconds: { active: active.error, exit: exit.error, withdrawal: withdrawal.error },
  }
}

/** A point in the chain's time; it lies within so many slots before and after, null where nobody can tell. */
interface Estimate {
  readonly slot: number
  readonly errorSlots: number | null
}

/** When an estimate is, and its error, in seconds; null where nobody can tell. */
function toldOf(clock: ChainClock | undefined, estimate: Estimate | undefined) {
  if (clock === undefined || estimate === undefined) return { at: null, error: null }
  const instantSec = slotTimeSec(clock, estimate.slot)
  if (instantSec > INSTANT_SEC_MAX) return { at: null, error: null }
  const { errorSlots } = estimate
  return { at: formatInstant(instantSec), error: errorSlots === null ? null : errorSlots * clock.secondsPerSlot }
}

/** The start of an epoch. */
function startOf(clock: ChainClock, epoch: number, errorEpochs: number): Estimate {
  return { slot: firstSlotOfEpoch(clock, epoch), errorSlots: errorEpochs * clock.slotsPerEpoch }
}

// What the queues say may be an epoch off: others join them, and finality is late at times. The error grows with what is not known.
const ERROR_EPOCHS = 1
/** Figures of the registry that are those of a sample are right to one part in so many, and so is the time spent in a queue. */
const SAMPLE_PRECISION = 25

function queueError(epochs: number, isSampled: boolean): number {
  return ERROR_EPOCHS + (isSampled ? Math.ceil(Math.max(0, epochs) / SAMPLE_PRECISION) : 0)
}

interface Cleared {
  /** First epoch from which the balance is enough to become active. */
  readonly epoch: number
  readonly errorEpochs: number
}

function activeAt(validator: EstimatedValidator, around: EstimatesAround): Estimate | undefined {
  const { facts, horizon } = around
  const clock = horizon?.clock ?? facts?.clock
  const fixed = fixedEpoch(validator.registered?.activation_epoch)
  if (clock === undefined) return undefined
  if (fixed !== undefined) return startOf(clock, fixed, 0)
  if (facts === undefined) return undefined
  const atHead = atHeadOf(validator.pubkey, facts)
  if (atHead?.activation !== undefined) return startOf(clock, atHead.activation, ERROR_EPOCHS)
  const cleared = clearedAt(validator, facts, { horizon, atHead })
  if (cleared === undefined) return undefined
  // Where the head has not set it, the next transition is the first that may.
  const soonest = atHead === undefined ? 0 : firstEffectEpoch(epochOf(facts.clock, facts.slot), facts.seedLookahead)
  return startOf(clock, Math.max(soonest, activationEpochAfter(cleared.epoch, facts)), cleared.errorEpochs)
}

/** Epochs of a validator in the state at the head, where they are told and it has fixed them. */
interface AtHead {
  readonly eligibility: number | undefined
  readonly activation: number | undefined
  readonly exit: number | undefined
  readonly withdrawable: number | undefined
}

/** Undefined for one that the registry at the head does not have, or that neither comes nor goes. */
function atHeadOf(pubkey: string, { own }: QueueFacts): AtHead | undefined {
  const found = own?.[prefixOfPubkey(pubkey)]
  if (found === undefined) return undefined
  const [eligibility, activation, exit, withdrawable] = found.map((epoch) => epoch ?? undefined)
  return { eligibility, activation, exit, withdrawable }
}

/** Whether the head has fixed a validator's exit, which is not final yet. */
export function isExitAtHead(pubkey: string, facts: QueueFacts | undefined): boolean {
  return facts !== undefined && atHeadOf(pubkey, facts)?.exit !== undefined
}

const PENDING_QUEUED = VALIDATOR_STATUSES.indexOf('pending_queued')

function clearedAt(
  { pubkey, registered, depositSlot }: EstimatedValidator,
  facts: QueueFacts,
  { horizon, atHead }: { readonly horizon: EstimatesAround['horizon']; readonly atHead: AtHead | undefined },
): Cleared | undefined {
  // The transition after the one that has credited its balance makes it eligible.
  if (atHead?.eligibility !== undefined) return { epoch: atHead.eligibility - 1, errorEpochs: ERROR_EPOCHS }
  const { effective_balance_gwei: effective, balance_gwei: balance, status } = registered ?? {}
  if (effective !== undefined && horizon !== undefined && BigInt(effective) >= BigInt(facts.minActivationGwei)) {
    // One that is not eligible at the end of the epoch has come with its beginning, one that is, before it.
    return { epoch: status === PENDING_QUEUED ? horizon.epoch - 1 : horizon.epoch, errorEpochs: ERROR_EPOCHS }
  }
  // Anybody may deposit anything for a public key: what waits counts for one that is known to be funded.
  if (registered === undefined && depositSlot === undefined) return undefined
  const waiting = clearedOfWaiting(pubkey, BigInt(balance ?? 0), facts)
  if (waiting === undefined && registered === undefined && atHead !== undefined)
    return { epoch: epochOf(facts.clock, facts.slot), errorEpochs: ERROR_EPOCHS }
  return waiting === undefined && registered === undefined ? clearedUnseen(depositSlot, facts) : waiting
}

/** When deposits that wait at the head make up for what is missing; undefined when they do not. */
function clearedOfWaiting(pubkey: string, balanceGwei: bigint, facts: QueueFacts): Cleared | undefined {
  const { own, isCarryKnown, isSampled } = facts.deposits
  const prefix = prefixOfPubkey(pubkey)
  let sumGwei = balanceGwei
  for (const [owner, amountGwei, epoch] of own) {
    if (owner !== prefix) continue
    sumGwei += BigInt(amountGwei)
    if (sumGwei < BigInt(facts.minActivationGwei)) continue
    if (epoch === NEVER) return undefined
    const waitEpochs = epoch - epochOf(facts.clock, facts.slot)
    return { epoch, errorEpochs: queueError(waitEpochs, isSampled) + (isCarryKnown ? 0 : 1) }
  }
  return undefined
}

/** Deposited, and not in the queue at the head: it has left it, or has come after it was read. */
function clearedUnseen(depositSlot: number | undefined, facts: QueueFacts): Cleared | undefined {
  if (depositSlot === undefined) return undefined
  const { clock, slot, finalityLag, deposits } = facts
  const headEpoch = epochOf(clock, slot)
  if (depositSlot <= slot) return { epoch: headEpoch, errorEpochs: finalityLag + ERROR_EPOCHS }
  if (deposits.endEpoch === NEVER) return undefined
  const firstFinal = epochOf(clock, depositSlot) + finalityLag + 2
  const epoch = Math.max(deposits.endEpoch, firstFinal)
  return { epoch, errorEpochs: queueError(epoch - headEpoch, deposits.isSampled) + 1 }
}

function exitAt(
  { pubkey, registered, isNeedExit }: EstimatedValidator,
  { facts, horizon, exitingGwei = 0n }: EstimatesAround,
  active: Estimate | undefined,
): Estimate | undefined {
  const clock = horizon?.clock ?? facts?.clock
  const fixed = fixedEpoch(registered?.exit_epoch)
  if (clock === undefined) return undefined
  if (fixed !== undefined) return startOf(clock, fixed, 0)
  const atHead = facts === undefined ? undefined : atHeadOf(pubkey, facts)?.exit
  if (atHead !== undefined) return startOf(clock, atHead, ERROR_EPOCHS)
  if (!isNeedExit || facts === undefined || active === undefined) return undefined
  const { exits, deposits, seedLookahead } = facts
  const headEpoch = epochOf(clock, facts.slot)
  const mayFrom = epochOf(clock, active.slot) + facts.serviceEpochs
  const currentEpoch = Math.max(headEpoch, mayFrom)
  const queue = { earliestEpoch: exits.earliestEpoch, leftGwei: BigInt(exits.leftGwei) }
  const balanceGwei = BigInt(registered?.effective_balance_gwei ?? facts.minActivationGwei)
  const at = { currentEpoch, limitGwei: BigInt(exits.limitGwei), seedLookahead }
  const { earliestEpoch: first } = joinChurnQueue(queue, balanceGwei, at)
  const { earliestEpoch: last } = joinChurnQueue(queue, exitingGwei > balanceGwei ? exitingGwei : balanceGwei, at)
  // In which order the account's exits come to the chain nobody knows.
  const middle = Math.ceil((first + last) / 2)
  const activeError = Math.ceil((active.errorSlots ?? 0) / clock.slotsPerEpoch)
  const unknown = (exits.isExact ? 0 : 1) + (mayFrom > headEpoch ? ERROR_EPOCHS + activeError : 0)
  const error = queueError(last - headEpoch, deposits.isSampled) + unknown + (middle - first)
  return startOf(clock, middle, error)
}

function withdrawalAt(
  { pubkey, registered }: EstimatedValidator,
  { facts, horizon, swept }: EstimatesAround,
  exit: Estimate | undefined,
): Estimate | undefined {
  const clock = horizon?.clock ?? facts?.clock
  if (registered === undefined || clock === undefined) return undefined
  const sweptSlot = swept.get(registered.validator_index)
  if (sweptSlot !== undefined) return { slot: sweptSlot, errorSlots: 0 }
  const fixed = fixedEpoch(registered.withdrawable_epoch)
  if (facts === undefined) return fixed === undefined ? undefined : { ...startOf(clock, fixed, 0), errorSlots: null }
  if (fixed === undefined && exit === undefined) return undefined
  // That of one that was slashed is later than its exit tells.
  const known = fixed ?? atHeadOf(pubkey, facts)?.withdrawable
  const fromSlot =
    known === undefined
      ? (exit?.slot ?? 0) + firstSlotOfEpoch(clock, facts.exitDelayEpochs)
      : firstSlotOfEpoch(clock, known)
  const { sweep, slot } = facts
  const found = estimateSweep(sweep, { ...sweep, slot }, { validatorIndex: registered.validator_index, fromSlot })
  const exitError = fixed === undefined ? (exit?.errorSlots ?? 0) : 0
  return { slot: found.slot, errorSlots: found.errorSlots + exitError }
}
