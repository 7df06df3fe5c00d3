import { BitArray } from '@chainsafe/ssz'
import { ForkSeq, SYNC_COMMITTEE_SIZE } from '@lodestar/params'
import {
  becomesNewEth1Data,
  type CachedBeaconStateAllForks,
  type CachedBeaconStateAltair,
  type CachedBeaconStateCapella,
  type CachedBeaconStateExecutions,
  computeTimeAtSlot,
  getEth1DepositCount,
  getExpectedWithdrawals,
  getRandaoMix,
} from '@lodestar/state-transition'
import { type BeaconBlock, type capella, type electra, type phase0, ssz } from '@lodestar/types'
import type { DepositTree } from './deposits.ts'
import type { Dice } from './dice.ts'
import { knownValidators, type Operations } from './operations.ts'
import type { IncludedAttestation, Votes } from './votes.ts'

const ADDRESS_BYTES = 20

export interface BlockSources {
  readonly dice: Dice
  readonly votes: Votes
  readonly operations: Operations
  readonly eth1: DepositTree
  /** What the blocks of the slot's voting period vote for. */
  readonly eth1Data: phase0.Eth1Data
  readonly participation: number
}

export interface BuiltBlock {
  /** Without state root. */
  readonly block: BeaconBlock
  readonly attestations: readonly IncludedAttestation[]
}

/** With the block's own vote counted, for process_eth1_data comes before the deposits. */
function eth1Deposits(state: CachedBeaconStateAllForks, { eth1, eth1Data }: BlockSources): phase0.Deposit[] {
  if (state.config.getForkSeq(state.slot) >= ForkSeq.fulu) return []
  const isNew = becomesNewEth1Data(state, ssz.phase0.Eth1Data.toViewDU(eth1Data))
  const known = isNew ? eth1Data : state.eth1Data.toValue()
  const from = state.eth1DepositIndex
  return eth1.deposits(Number(known.depositCount), from, from + getEth1DepositCount(state, known))
}

function executionPayload(state: CachedBeaconStateExecutions, dice: Dice) {
  const fork = state.config.getForkSeq(state.slot)
  const payload = state.config.getPostBellatrixForkTypes(state.slot).ExecutionPayload.defaultValue()
  payload.parentHash = state.latestExecutionPayloadHeader.blockHash
  payload.prevRandao = getRandaoMix(state, state.epochCtx.epoch)
  payload.timestamp = computeTimeAtSlot(state.config, state.slot, state.genesisTime)
  payload.blockNumber = state.slot
  payload.blockHash = dice.bytes(32)
  payload.feeRecipient = new Uint8Array(ADDRESS_BYTES).fill(1)
  if (fork < ForkSeq.capella) return payload
  const { expectedWithdrawals } = getExpectedWithdrawals(fork, state as CachedBeaconStateCapella)
  return { ...payload, withdrawals: expectedWithdrawals }
}

function syncAggregate(dice: Dice, participation: number) {
  const bits = Array.from({ length: SYNC_COMMITTEE_SIZE }, () => dice.chance(participation))
  return { syncCommitteeBits: BitArray.fromBoolArray(bits), syncCommitteeSignature: new Uint8Array(96) }
}

/** A block of the state's slot and proposer. Its signatures are empty, but those of deposits and changes of credentials. */
export function buildBlock(state: CachedBeaconStateAllForks, sources: BlockSources): BuiltBlock {
  const { dice, operations, votes } = sources
  const { slot } = state
  const fork = state.config.getForkSeq(slot)
  const proposerIndex = state.epochCtx.getBeaconProposer(slot)
  const known = knownValidators(state)
  const proposerSlashings = operations.proposerSlashings(state, known)
  const attesterSlashings = operations.attesterSlashings(state, known, proposerSlashings)
  const slashed = new Set([
    ...proposerSlashings.map(({ signedHeader1 }) => signedHeader1.message.proposerIndex),
    ...attesterSlashings.flatMap(({ attestation1 }) => attestation1.attestingIndices),
  ])
  const attestations = votes.take(state)
  const randaoReveal = new Uint8Array(96)
  randaoReveal.set(dice.bytes(4))
  const body = {
    ...state.config.getForkTypes(slot).BeaconBlockBody.defaultValue(),
    randaoReveal,
    eth1Data: sources.eth1Data,
    proposerSlashings,
    attesterSlashings,
    attestations: attestations.map(({ attestation }) => attestation),
    deposits: eth1Deposits(state, sources),
    voluntaryExits: operations.voluntaryExits(state, known, slashed),
    syncAggregate: syncAggregate(dice, sources.participation),
  } as electra.BeaconBlockBody
  if (fork >= ForkSeq.bellatrix) {
    const payload = executionPayload(state as CachedBeaconStateExecutions, dice)
    body.executionPayload = payload as electra.BeaconBlockBody['executionPayload']
  }
  if (fork >= ForkSeq.capella) body.blsToExecutionChanges = operations.blsChanges(known)
  if (fork >= ForkSeq.electra) {
    const { withdrawals } = body.executionPayload as capella.ExecutionPayload
    const withdrawn = new Set(withdrawals.map(({ validatorIndex }) => validatorIndex))
    body.executionRequests = {
      // Numbered behind all deposits of the bridge, which are applied first.
      deposits: operations.depositRequests(known, sources.eth1.size),
      withdrawals: operations.withdrawalRequests(state, known),
      consolidations: operations.consolidationRequests(state, known, { proposerIndex, withdrawn }),
    }
  }
  const parentRoot = (state as CachedBeaconStateAltair).latestBlockHeader.hashTreeRoot()
  return { block: { slot, proposerIndex, parentRoot, stateRoot: new Uint8Array(32), body }, attestations }
}
