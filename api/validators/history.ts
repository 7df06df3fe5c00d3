import { fixedEpoch } from '../../schemas/eth/far-future.ts'
import {
  type ChainClock,
  epochOf,
  firstSlotOfEpoch,
  formatInstant,
  lastSlotOfEpoch,
  slotAt,
  slotTimeSec,
} from '../../schemas/eth/time.ts'
import {
  HISTORY_STEPS,
  type HistoryStep,
  type HistoryStepName,
} from '../../schemas/routes/validators/validator-history.ts'
import { createdSlot, expiresAtSlot, type UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import type { Horizon } from '../rewards/horizon.ts'
import type { AccountValidator } from './account-validators.ts'
import { type Broadcast, broadcastsOf } from './broadcasts.ts'
import { type ExitRequest, exitRequests } from './exit-requests.ts'
import { type HistoryFacts, historyFacts, type RegisteredValidator } from './history-facts.ts'

/** Epochs from a checkpoint to its finality at the earliest: justified by the end of its epoch, final by the end of the next. */
const FINALITY_EPOCHS = 2

/** What has happened to each of the validators up to the horizon, in their order. */
export async function historiesOf(
  scope: AccountScope & { readonly unfundedRules: UnfundedRules },
  horizon: Horizon | undefined,
  validators: readonly AccountValidator[],
): Promise<readonly (readonly HistoryStep[])[]> {
  const registered = validators.filter((one): one is RegisteredValidator => one.registered !== undefined)
  const facts = horizon === undefined ? undefined : await historyFacts(scope, horizon, registered)
  // What is asked of a former validator is no business of the account's.
  const own = validators.filter(({ registered: state }) => state?.isSeenToday ?? true).map(({ pubkey }) => pubkey)
  const exits = await exitRequests(scope, own)
  const broadcasts = await broadcastsOf(scope, own)
  const { expiryEpochs } = scope.unfundedRules
  return validators.map((one) => {
    const registry = one.registered === undefined ? undefined : facts?.get(one.registered.validator_index)
    const told = { exit: exits.get(one.pubkey), broadcasts: broadcasts.get(one.pubkey) ?? [] }
    return toHistory(one, horizon, { registry, ...told, expiryEpochs })
  })
}

/** What others than the chain's registry and deposits tell of a validator, and the rule by which it expires. */
interface ToldOf {
  readonly registry: HistoryFacts | undefined
  readonly exit: ExitRequest | undefined
  readonly broadcasts: readonly Broadcast[]
  readonly expiryEpochs: number
}

/**
 * Steps in the order of their slots, and of a validator's life where these are equal; its creation comes first even where the chain is behind
 * the clock that told its time. Those that lie ahead are left out.
 */
export function toHistory(
  validator: AccountValidator,
  horizon: Pick<Horizon, 'clock' | 'epoch'> | undefined,
  { registry: facts, exit, broadcasts, expiryEpochs }: ToldOf,
): readonly HistoryStep[] {
  const steps = [
    ...earlySteps(validator, horizon?.clock),
    ...broadcasts.flatMap(broadcastSteps),
    ...expiry(validator, horizon, expiryEpochs),
    ...timed('exit_requested', exit?.requestedSec),
    ...timed('exit_cancelled', exit?.cancelledSec),
    ...timed('exit_submitted', exit?.submittedSec),
  ]
  if (horizon !== undefined && facts !== undefined) {
    const upTo = lastSlotOfEpoch(horizon.clock, horizon.epoch)
    const seen = { ...facts, submittedSec: exit?.submittedSec }
    steps.push(...registrySteps(validator, horizon.clock, seen).filter(({ slot }) => slot !== null && slot <= upTo))
  }
  const place = ({ step }: HistoryStep) => HISTORY_STEPS.indexOf(step)
  const later = ({ step }: HistoryStep) => (step === 'created' ? 0 : 1)
  return steps.sort((a, b) => later(a) - later(b) || Date.parse(a.time) - Date.parse(b.time) || place(a) - place(b))
}

/** What was asked of us, at whatever slot. */
function timed(step: HistoryStepName, timeSec: number | undefined): readonly HistoryStep[] {
  if (timeSec === undefined) return []
  const nothing = { block_number: null, transaction_hash: null }
  return [{ step, time: formatInstant(timeSec), slot: null, is_exact: true, ...nothing }]
}

/** What was sent from here, and that it was reverted, whatever was sent after it. */
function broadcastSteps({ transactionHash, timeSec, reverted }: Broadcast): readonly HistoryStep[] {
  const sent = { time: formatInstant(timeSec), slot: null, block_number: null, transaction_hash: transactionHash }
  const steps: readonly HistoryStep[] = [{ ...sent, step: 'broadcast', is_exact: true }]
  if (reverted === undefined) return steps
  const failed = { time: formatInstant(reverted.timeSec), block_number: reverted.blockNumber }
  return [...steps, { ...sent, ...failed, step: 'failed', is_exact: false }]
}

/** When it has waited for its deposit longer than one may: a deposit that came later has ended that. */
function expiry(
  { created, deposit, isRegistered }: AccountValidator,
  horizon: Pick<Horizon, 'clock' | 'epoch'> | undefined,
  expiryEpochs: number,
): readonly HistoryStep[] {
  if (created === undefined || horizon === undefined) return []
  const { clock, epoch } = horizon
  const slot = expiresAtSlot(clock, createdSlot(clock, created), expiryEpochs)
  if (slot > lastSlotOfEpoch(clock, epoch)) return []
  // Of one that the registry has, nothing tells any more when the deposit came that no table has.
  const wasFunded = deposit === undefined ? isRegistered : slotAt(clock, deposit.timeSec) < slot
  return wasFunded ? [] : [stepAt('expired', slot, clock, true)]
}

/** Creation, deposit and how the chain dropped it, which the registry does not tell. */
function earlySteps(
  { created, deposit, failed }: AccountValidator,
  clock: ChainClock | undefined,
): readonly HistoryStep[] {
  const steps: HistoryStep[] = []
  const nothing = { block_number: null, transaction_hash: null }
  if (created !== undefined) {
    const { createdAtSec, createdAtSlot: slot = null } = created
    const timeSec = clock === undefined || slot === null ? createdAtSec : slotTimeSec(clock, slot)
    steps.push({ step: 'created', time: formatInstant(timeSec), slot, is_exact: true, ...nothing })
  }
  // Of a validator that was only tracked nobody has said which of its key's deposits is its own.
  if (deposit === undefined || created === undefined) return steps
  const { timeSec, slot = null, blockNumber, transactionHash, isFinal } = deposit
  const transaction = { block_number: blockNumber, transaction_hash: transactionHash }
  steps.push({ step: 'deposited', time: formatInstant(timeSec), slot, is_exact: true, ...transaction })
  if (isFinal && clock !== undefined && slot !== null) {
    const checkpoint = epochOf(clock, slot + clock.slotsPerEpoch - 1)
    steps.push(stepAt('deposit_finalized', firstSlotOfEpoch(clock, checkpoint + FINALITY_EPOCHS), clock, false))
    if (failed?.kind === 'dropped_deposit') steps.push(stepAt('failed', failed.slot, clock, false))
  }
  return steps
}

/** What the registry tells, the future included. */
function registrySteps(
  { registered, created }: AccountValidator,
  clock: ChainClock,
  { firstEpochs, slashedSlot, sweptSlot, submittedSec }: HistoryFacts & Pick<Partial<ExitRequest>, 'submittedSec'>,
): readonly HistoryStep[] {
  if (registered === undefined) return []
  // One that was tracked later may have been seen in a status for the first time when it had been in it for long.
  const isExact = created !== undefined
  const seen = (step: HistoryStepName, epoch: number | undefined) =>
    epoch === undefined ? [] : [stepAt(step, firstSlotOfEpoch(clock, epoch), clock, isExact)]
  const fixed = (step: HistoryStepName, epochText: string) => {
    const epoch = fixedEpoch(epochText)
    return epoch === undefined ? [] : [stepAt(step, firstSlotOfEpoch(clock, epoch), clock, true)]
  }
  const at = (step: HistoryStepName, slot: number | undefined) =>
    slot === undefined ? [] : [stepAt(step, slot, clock, true)]
  return [
    ...seen('pending_initialized', firstEpochs.get('pending_initialized')),
    ...seen('pending_queued', firstEpochs.get('pending_queued')),
    ...fixed('active', registered.activation_epoch),
    ...at('slashed', slashedSlot),
    ...exiting(clock, firstEpochs.get('active_exiting'), submittedSec),
    ...fixed('exited', registered.exit_epoch),
    ...fixed('withdrawable', registered.withdrawable_epoch),
    ...at('swept', sweptSlot),
  ]
}

/**
 * A block of the epoch has taken the exit, nothing tells which one: not before a node had it, where that was in the same epoch. Other statuses
 * that pass begin with an epoch, as its first slot's transition makes them (electra, process_epoch).
 */
function exiting(
  clock: ChainClock,
  epoch: number | undefined,
  submittedSec: number | undefined,
): readonly HistoryStep[] {
  if (epoch === undefined) return []
  const slot = submittedSec === undefined ? -1 : slotAt(clock, submittedSec)
  if (submittedSec === undefined || epochOf(clock, slot) !== epoch)
    return [stepAt('exiting', firstSlotOfEpoch(clock, epoch), clock, false)]
  return [{ ...stepAt('exiting', slot, clock, false), time: formatInstant(submittedSec) }]
}

function stepAt(step: HistoryStepName, slot: number, clock: ChainClock, isExact: boolean): HistoryStep {
  const time = formatInstant(slotTimeSec(clock, slot))
  return { step, time, slot, is_exact: isExact, block_number: null, transaction_hash: null }
}
