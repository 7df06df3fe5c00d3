import { BitArray } from '@chainsafe/ssz'
import { ForkSeq, SYNC_COMMITTEE_SIZE } from '@lodestar/params'
import {
  type CachedBeaconStateElectra,
  type CachedBeaconStateFulu,
  computeTimeAtSlot,
  DataAvailabilityStatus,
  ExecutionPayloadStatus,
  getExpectedWithdrawals,
  getRandaoMix,
} from '@lodestar/state-transition'
import { processBlock } from '@lodestar/state-transition/block'
import { type altair, type electra, type fulu, ssz } from '@lodestar/types'
import { type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import type { BlockTurn, BuiltPayload, PayloadRequest } from '../engine.ts'
import type { BlockRecord, ProposerRewards } from './history.ts'
import { type Operations, slashingReward } from './incidents.ts'
import type { LaterSignature, Signer } from './signer.ts'
import { syncRewardsOf, syncWorthOf } from './sync-rewards.ts'

const GRAFFITI = new Uint8Array(32)
GRAFFITI.set(new TextEncoder().encode('epochline devnet'))

const EMPTY_SIGNATURE = new Uint8Array(96)
/** SSZ of a SignedBeaconBlock begins with the four bytes of the message's offset; the signature follows. */
export const SIGNATURE_OFFSET = 4

const PROCESS_OPTIONS = {
  verifySignatures: false,
  executionPayloadStatus: ExecutionPayloadStatus.valid,
  dataAvailabilityStatus: DataAvailabilityStatus.Available,
}

/** A slot's turn as the execution side sees it. */
export function blockTurn(state: CachedBeaconStateFulu, slot: number, feeRecipient: Hex): BlockTurn {
  const timestampSec = computeTimeAtSlot(state.config, slot, state.genesisTime)
  return { slot, timestampSec, feeRecipient }
}

/** What the execution side needs for the block of the state's slot; `next` as in PayloadRequest. */
export function payloadRequest(
  state: CachedBeaconStateFulu,
  feeRecipient: Hex,
  { parentHash, next }: Pick<PayloadRequest, 'parentHash' | 'next'>,
): PayloadRequest {
  const { expectedWithdrawals } = getExpectedWithdrawals(ForkSeq.fulu, state as unknown as CachedBeaconStateElectra)
  const proposerIndex = state.epochCtx.getBeaconProposer(state.slot)
  return {
    ...blockTurn(state, state.slot, feeRecipient),
    parentHash,
    parentBeaconBlockRoot: hexOf(state.latestBlockHeader.hashTreeRoot()),
    prevRandao: hexOf(getRandaoMix(state, state.epochCtx.epoch)),
    proposerIndex,
    next,
    withdrawals: expectedWithdrawals.map((withdrawal) => ({
      index: withdrawal.index,
      validatorIndex: withdrawal.validatorIndex,
      address: hexOf(withdrawal.address),
      amountGwei: withdrawal.amount,
    })),
  }
}

export interface BlockParts {
  readonly proposerIndex: number
  readonly built: BuiltPayload
  readonly operations: Operations
  readonly attestations: electra.Attestation[]
  /** By validator index: takes part in the sync aggregate. */
  readonly participates: readonly boolean[]
  readonly randaoReveal: Uint8Array
}

function syncAggregate(committee: Uint32Array, participates: readonly boolean[], signature: Uint8Array) {
  const bits = BitArray.fromBitLen(SYNC_COMMITTEE_SIZE)
  for (let i = 0; i < SYNC_COMMITTEE_SIZE; i++) bits.set(i, participates[committee[i] as number] === true)
  return { syncCommitteeBits: bits, syncCommitteeSignature: signature } satisfies altair.SyncAggregate
}

function toBody(state: CachedBeaconStateFulu, parts: BlockParts, signer: Signer): fulu.BeaconBlock['body'] {
  const committee = state.epochCtx.currentSyncCommitteeIndexed.validatorIndices
  return {
    randaoReveal: parts.randaoReveal,
    eth1Data: state.eth1Data.toValue(),
    graffiti: GRAFFITI,
    ...parts.operations,
    attestations: parts.attestations,
    deposits: [],
    syncAggregate: syncAggregate(committee, parts.participates, signer.aggregate(`sync ${state.slot}`)),
    executionPayload: parts.built.payload,
    blsToExecutionChanges: [],
    blobKzgCommitments: parts.built.blobKzgCommitments,
    executionRequests: parts.built.requests,
  }
}

function slashingRewards(state: CachedBeaconStateFulu, operations: Operations) {
  const rewardFor = (validator: number) => slashingReward(state.validators.getReadonly(validator).effectiveBalance)
  const sum = (validators: readonly number[]) => validators.reduce((total, v) => total + rewardFor(v), 0)
  return {
    proposerSlashings: sum(operations.proposerSlashings.map((s) => s.signedHeader1.message.proposerIndex)),
    attesterSlashings: sum(operations.attesterSlashings.flatMap((s) => s.attestation1.attestingIndices)),
  }
}

/** The next block does not depend on this one's signature, so it is made beside it. */
function signedLater(bytes: Uint8Array, sign: LaterSignature): Pick<BlockRecord, 'signature' | 'bytes'> {
  let isSigned = false
  return {
    signature: sign,
    bytes() {
      if (!isSigned) bytes.set(sign(), SIGNATURE_OFFSET)
      isSigned = true
      return bytes
    },
  }
}

/** Applies the block of the state's slot to the state (which is changed and hashed) and returns the signed block's record. */
export function produceBlock(state: CachedBeaconStateFulu, parts: BlockParts, signer: Signer): BlockRecord {
  const { slot } = state
  const { proposerIndex } = parts
  const message: fulu.BeaconBlock = {
    slot,
    proposerIndex,
    parentRoot: state.latestBlockHeader.hashTreeRoot(),
    stateRoot: new Uint8Array(32),
    body: toBody(state, parts, signer),
  }
  const slashings = slashingRewards(state, parts.operations)
  const { syncParticipantReward, currentSyncCommitteeIndexed } = state.epochCtx
  const committee = currentSyncCommitteeIndexed.validatorIndices
  const bits = message.body.syncAggregate.syncCommitteeBits
  const syncWorth = syncWorthOf({
    committee,
    rewardGwei: syncParticipantReward,
    balances: state.balances,
    withdrawals: message.body.executionPayload.withdrawals,
  })
  processBlock(ForkSeq.fulu, state, message, PROCESS_OPTIONS, PROCESS_OPTIONS)
  state.commit()
  message.stateRoot = state.hashTreeRoot()
  const bodyRoot = state.latestBlockHeader.bodyRoot
  const { parentRoot, stateRoot } = message
  const root = ssz.phase0.BeaconBlockHeader.hashTreeRoot({ slot, proposerIndex, parentRoot, stateRoot, bodyRoot })
  const bytes = ssz.fulu.SignedBeaconBlock.serialize({ message, signature: EMPTY_SIGNATURE })
  const rewards: ProposerRewards = {
    attestations: state.proposerRewards.attestations,
    syncAggregate: state.proposerRewards.syncAggregate,
    ...slashings,
  }
  return {
    root: hexOf(root),
    slot,
    proposerIndex,
    parentRoot: hexOf(parentRoot),
    stateRoot: hexOf(stateRoot),
    bodyRoot: hexOf(bodyRoot),
    ...signedLater(bytes, signer.block(slot, proposerIndex, root)),
    executionHash: hexOf(parts.built.payload.blockHash),
    rewards,
    syncWorth,
    syncRewards: () => syncRewardsOf(syncWorth, committee, bits),
  }
}

/** Applies a block that the chain has produced before. */
export function replayBlock(state: CachedBeaconStateFulu, bytes: Uint8Array): void {
  const { message } = ssz.fulu.SignedBeaconBlock.deserialize(bytes)
  processBlock(ForkSeq.fulu, state, message, PROCESS_OPTIONS, PROCESS_OPTIONS)
  state.commit()
}
