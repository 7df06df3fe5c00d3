import {
  FAR_FUTURE_EPOCH,
  ForkSeq,
  GENESIS_EPOCH,
  MIN_ACTIVATION_BALANCE,
  MIN_EPOCHS_TO_INACTIVITY_PENALTY,
} from '@lodestar/params'
import {
  type CachedBeaconStateAllForks,
  type CachedBeaconStateElectra,
  type EpochTransitionCache,
  G2_POINT_AT_INFINITY,
} from '@lodestar/state-transition'
import type { altair, BeaconBlock, capella, electra, phase0 } from '@lodestar/types'
import type { BalanceChange, Step } from './balance-changes.ts'
import { type HistoryEvent, noEvents } from './history-events.ts'
import type { IncludedAttestation } from './votes.ts'

/** Below this a balance is as good as gone. */
const NEAR_ZERO_GWEI = 1_000_000

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const hasPrefix = (credentials: Uint8Array, prefix: number) => credentials[0] === prefix

/** Counts what happens; nothing that is expected of anybody is taken from it. */
export class EventCounter {
  #events = noEvents()
  #isLeaking = false
  #queue: readonly electra.PendingDeposit[] = []
  /** Before the last block. */
  #validators = 0
  readonly #badKeys = new Set<string>()
  readonly #proposers = new Map<number, number>()

  count(event: HistoryEvent, times = 1): void {
    this.#events[event] += times
  }

  saturated(): void {
    this.count('saturated_attestation_penalty')
  }

  /** Of the epoch that ends; counting begins anew. */
  take(): Record<HistoryEvent, number> {
    for (const blocks of this.#proposers.values()) if (blocks > 1) this.count('proposed_twice')
    if (this.#proposers.size === 0) this.count('empty_epoch')
    this.#proposers.clear()
    const taken = this.#events
    this.#events = noEvents()
    return taken
  }

  before(step: Step, state: CachedBeaconStateAllForks): void {
    if (step === 'slashings') this.#transition(state)
    if (step === 'pending_deposits') this.#queue = pendingDepositsOf(state)
    if (step === 'pending_consolidations') this.#consolidations(state as CachedBeaconStateElectra)
    if (step === 'upgrade_electra') this.#upgrade(state)
  }

  #transition(state: CachedBeaconStateAllForks): void {
    const { epoch } = state.epochCtx
    if (epoch === GENESIS_EPOCH) this.count('genesis_epoch')
    const isLeaking = epoch - 1 - state.finalizedCheckpoint.epoch > MIN_EPOCHS_TO_INACTIVITY_PENALTY
    if (isLeaking) this.count('inactivity_leak')
    if (this.#isLeaking && !isLeaking) this.count('leak_recovery')
    this.#isLeaking = isLeaking
    this.#empty(state)
  }

  /** Who is rewarded or penalised in the transition, and has nothing. */
  #empty(state: CachedBeaconStateAllForks): void {
    const { epoch } = state.epochCtx
    for (let index = 0; index < state.validators.length; index++) {
      const { slashed, activationEpoch, exitEpoch, withdrawableEpoch } = state.validators.getReadonly(index)
      const isEligible = (activationEpoch < epoch && epoch <= exitEpoch) || (slashed && epoch < withdrawableEpoch)
      if (isEligible && state.balances.get(index) === 0) this.count('balance_at_zero')
    }
  }

  after(step: Step, state: CachedBeaconStateAllForks, cache?: EpochTransitionCache): void {
    if (step === 'pending_deposits') this.#appliedDeposits(state as CachedBeaconStateElectra)
    if (step !== 'slashings' || cache === undefined) return
    const emptied = cache.indicesToSlash.filter((index) => state.balances.get(index) === 0)
    this.count('saturated_correlation_penalty', emptied.length)
  }

  /** The queue as it was before the step against the one after it. */
  #appliedDeposits(state: CachedBeaconStateElectra): void {
    const left = pendingDepositsOf(state).map(depositKey)
    const firstLeft = left[0]
    let isStopped = false
    for (const deposit of this.#queue) {
      const index = state.epochCtx.getValidatorIndex(deposit.pubkey)
      const isKnown = index !== null && index < state.validators.length
      const validator = isKnown ? state.validators.getReadonly(index) : undefined
      const isLeft = left.includes(depositKey(deposit))
      isStopped ||= depositKey(deposit) === firstLeft
      // Handled and still there: put behind the others until its validator has left.
      if (isLeft && !isStopped && validator !== undefined) this.count('deposit_to_exiting')
      if (!isLeft) this.#appliedDeposit(deposit, validator, state.epochCtx.epoch)
    }
  }

  #appliedDeposit(
    { pubkey, signature }: electra.PendingDeposit,
    validator: phase0.Validator | undefined,
    epoch: number,
  ): void {
    const key = hex(pubkey)
    if (validator === undefined) {
      this.count('queued_bad_signature')
      this.#badKeys.add(key)
      return
    }
    if (validator.withdrawableEpoch <= epoch) this.count('deposit_to_withdrawn')
    if (hex(signature) === hex(G2_POINT_AT_INFINITY)) this.count('excess_returned')
    else if (signature.every((byte) => byte === 0)) this.count('queued_top_up')
    else {
      this.count('queued_new_validator')
      if (this.#badKeys.delete(key)) this.count('good_deposit_after_bad')
    }
  }

  #consolidations(state: CachedBeaconStateElectra): void {
    for (const { sourceIndex } of state.pendingConsolidations.getAllReadonlyValues()) {
      const { slashed, withdrawableEpoch, effectiveBalance } = state.validators.getReadonly(sourceIndex)
      if (slashed) this.count('consolidation_of_slashed')
      else if (withdrawableEpoch > state.epochCtx.epoch + 1) return
      else if (state.balances.get(sourceIndex) > effectiveBalance) this.count('consolidation_with_excess')
    }
  }

  #upgrade(state: CachedBeaconStateAllForks): void {
    for (const [index, validator] of state.validators.getAllReadonlyValues().entries()) {
      const balance = state.balances.get(index)
      if (validator.activationEpoch === FAR_FUTURE_EPOCH && balance > 0) this.count('upgrade_queued_inactive')
      else if (hasPrefix(validator.withdrawalCredentials, 2) && balance > MIN_ACTIVATION_BALANCE) {
        this.count('upgrade_cut_compounding')
      }
    }
  }

  /** A block that is going to be applied to the state. */
  block(state: CachedBeaconStateAllForks, block: BeaconBlock, attestations: readonly IncludedAttestation[]): void {
    const fork = state.config.getForkSeq(block.slot)
    const { body, proposerIndex } = block
    this.#proposers.set(proposerIndex, (this.#proposers.get(proposerIndex) ?? 0) + 1)
    this.count('proposer_slashing', body.proposerSlashings.length)
    for (const { attestation1 } of body.attesterSlashings) {
      if (attestation1.attestingIndices.length > 1) this.count('attester_slashing_of_several')
    }
    this.count('voluntary_exit', body.voluntaryExits.length)
    for (const { variant, delaySlots, attesters } of attestations) {
      if (delaySlots > 1) this.count('late_attestation')
      if (variant === 'wrong head') this.count('wrong_head')
      if (variant === 'wrong target') this.count('wrong_target')
      if (attesters.some((index) => state.validators.getReadonly(index).slashed)) this.count('attestation_by_slashed')
    }
    this.#seats(state, (body as altair.BeaconBlockBody).syncAggregate)
    for (const { data } of body.deposits) {
      const index = state.epochCtx.getValidatorIndex(data.pubkey)
      const isKnown = index !== null && index < state.validators.length
      if (isKnown) this.count('eth1_top_up')
      else if (data.signature.every((byte) => byte === 0)) this.count('eth1_bad_signature')
    }
    this.#validators = state.validators.length
    if (fork >= ForkSeq.capella) this.#withdrawals(state, body as capella.BeaconBlockBody)
    if (fork >= ForkSeq.electra) {
      const { withdrawals } = (body as electra.BeaconBlockBody).executionRequests
      this.count('requested_exit', withdrawals.filter(({ amount }) => amount === 0n).length)
    }
  }

  #seats(state: CachedBeaconStateAllForks, { syncCommitteeBits }: altair.SyncAggregate): void {
    const { currentSyncCommitteeIndexed, syncParticipantReward } = state.epochCtx
    const seats = [...currentSyncCommitteeIndexed.validatorIndices]
    const poor = seats.filter(
      (each, i) => !syncCommitteeBits.get(i) && state.balances.get(each) < syncParticipantReward,
    )
    this.count('saturated_sync_penalty', poor.length)
    if (new Set(seats).size < seats.length) this.count('sync_seats_of_one')
    const { epoch } = state.epochCtx
    if (seats.some((index) => state.validators.getReadonly(index).exitEpoch <= epoch)) this.count('sync_seat_of_exited')
  }

  #withdrawals(state: CachedBeaconStateAllForks, body: capella.BeaconBlockBody): void {
    this.count('bls_change', body.blsToExecutionChanges.length)
    for (const { validatorIndex } of body.executionPayload.withdrawals) {
      const { withdrawableEpoch, withdrawalCredentials, exitEpoch } = state.validators.getReadonly(validatorIndex)
      if (withdrawableEpoch <= state.epochCtx.epoch) this.count('full_withdrawal')
      // Nobody has 2,048 ETH here, so what a compounding validator gets was asked for.
      else if (hasPrefix(withdrawalCredentials, 2) && exitEpoch === FAR_FUTURE_EPOCH) this.count('requested_withdrawal')
      else this.count('partial_withdrawal')
    }
  }

  /** What the steps since the last call did to balances. */
  changes(state: CachedBeaconStateAllForks, changes: readonly BalanceChange[]): void {
    const effectiveBalanceOf = (index: number) => state.validators.getReadonly(index).effectiveBalance
    for (const { step, validatorIndex, gwei } of changes) {
      if (step === 'slashings') this.count('correlation_penalty')
      if (step === 'deposit' && validatorIndex >= this.#validators) this.count('eth1_new_validator')
      if (step === 'target' && gwei > 0n && effectiveBalanceOf(validatorIndex) > MIN_ACTIVATION_BALANCE)
        this.count('reward_above_32_eth')
      if (step === 'inactivity') this.count('inactivity_penalty')
      if (step === 'pending_consolidations' && gwei < 0n) this.count('consolidation')
      if (step === 'consolidation_request') {
        this.count('switch_with_excess')
        const isPaid = changes.some((each) => each.step === 'withdrawals' && each.validatorIndex === validatorIndex)
        if (isPaid) this.count('switch_with_excess_and_withdrawal')
      }
      const balance = state.balances.get(validatorIndex)
      if (balance > 0 && balance < NEAR_ZERO_GWEI) this.count('balance_near_zero')
    }
  }
}

/** One by one: not all of them are committed. */
function pendingDepositsOf(state: CachedBeaconStateAllForks): electra.PendingDeposit[] {
  const { pendingDeposits } = state as CachedBeaconStateElectra
  return Array.from({ length: pendingDeposits.length }, (_, i) => pendingDeposits.getReadonly(i).toValue())
}

function depositKey({ pubkey, amount, slot, signature }: electra.PendingDeposit): string {
  return [hex(pubkey), amount, slot, hex(signature.subarray(0, 4))].join()
}
