import { SLOTS_PER_EPOCH } from '@lodestar/params'
import type { CachedBeaconStateFulu } from '@lodestar/state-transition'
import { type phase0, ssz } from '@lodestar/types'
import { hexOf } from '../../../schemas/eth/hex.ts'
import type { BlockRecord, Checkpoint, FinalityCheckpoints, SlotRecord } from './history.ts'

function sameValidator(a: phase0.Validator, b: phase0.Validator): boolean {
  return (
    a.effectiveBalance === b.effectiveBalance &&
    a.slashed === b.slashed &&
    a.activationEligibilityEpoch === b.activationEligibilityEpoch &&
    a.activationEpoch === b.activationEpoch &&
    a.exitEpoch === b.exitEpoch &&
    a.withdrawableEpoch === b.withdrawableEpoch &&
    Buffer.compare(a.withdrawalCredentials, b.withdrawalCredentials) === 0
  )
}

function registryOf(state: CachedBeaconStateFulu, before: readonly phase0.Validator[]): readonly phase0.Validator[] {
  return state.validators.getAllReadonlyValues().map((validator, index) => {
    const known = before[index]
    return known !== undefined && sameValidator(known, validator) ? known : validator
  })
}

interface CheckpointView {
  readonly epoch: number
  readonly root: Uint8Array
}

function checkpointOf(view: CheckpointView, before: Checkpoint | undefined): Checkpoint {
  return before?.epoch === view.epoch ? before : { epoch: view.epoch, root: hexOf(view.root) }
}

function finalityOf(state: CachedBeaconStateFulu, before: FinalityCheckpoints | undefined): FinalityCheckpoints {
  const next = {
    previousJustified: checkpointOf(state.previousJustifiedCheckpoint, before?.previousJustified),
    currentJustified: checkpointOf(state.currentJustifiedCheckpoint, before?.currentJustified),
    finalized: checkpointOf(state.finalizedCheckpoint, before?.finalized),
  }
  const unchanged =
    before?.previousJustified === next.previousJustified &&
    before.currentJustified === next.currentJustified &&
    before.finalized === next.finalized
  return unchanged ? before : next
}

/** The slot before, whose record the next one shares what it can with. */
interface SlotBefore {
  readonly record: SlotRecord
  readonly state: CachedBeaconStateFulu
}

/**
 * The record of the slot that a committed state stands at: of `head`'s slot, or of one after it without a block. What did not change
 * since the slot before is taken from its record: tree nodes are immutable, so the same node means the same content.
 */
export function slotRecordOf(state: CachedBeaconStateFulu, head: BlockRecord, before?: SlotBefore): SlotRecord {
  const last = before?.record
  const block = head.slot === state.slot ? head : undefined
  const old = before?.state
  const stateRoot = block?.stateRoot ?? hexOf(state.hashTreeRoot())
  return {
    slot: state.slot,
    stateRoot,
    block,
    head,
    balances:
      last !== undefined && old?.balances.node === state.balances.node
        ? last.balances
        : Float64Array.from(state.balances.getAll()),
    registry:
      last !== undefined && old?.validators.node === state.validators.node
        ? last.registry
        : registryOf(state, last?.registry ?? []),
    finality: finalityOf(state, last?.finality),
    pendingDeposits:
      last !== undefined && old?.pendingDeposits.node === state.pendingDeposits.node
        ? last.pendingDeposits
        : ssz.electra.PendingDeposits.toValueFromViewDU(state.pendingDeposits),
    pendingPartialWithdrawals:
      last !== undefined && old?.pendingPartialWithdrawals.node === state.pendingPartialWithdrawals.node
        ? last.pendingPartialWithdrawals
        : ssz.electra.PendingPartialWithdrawals.toValueFromViewDU(state.pendingPartialWithdrawals),
    pendingConsolidations:
      last !== undefined && old?.pendingConsolidations.node === state.pendingConsolidations.node
        ? last.pendingConsolidations
        : ssz.electra.PendingConsolidations.toValueFromViewDU(state.pendingConsolidations),
    syncCommittee: state.epochCtx.currentSyncCommitteeIndexed.validatorIndices,
    nextSyncCommittee: state.epochCtx.nextSyncCommitteeIndexed.validatorIndices,
    proposers: state.epochCtx.proposers,
    tree: isKept(state.slot) ? state.node : undefined,
  }
}

/** States of other slots are made from the first of their epoch; rewards are computed from those of the last. */
function isKept(slot: number): boolean {
  const place = slot % SLOTS_PER_EPOCH
  return place === 0 || place === SLOTS_PER_EPOCH - 1
}
