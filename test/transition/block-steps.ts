import { ForkSeq } from '@lodestar/params'
import {
  type CachedBeaconStateAllForks,
  type CachedBeaconStateAltair,
  type CachedBeaconStateBellatrix,
  type CachedBeaconStateCapella,
  type CachedBeaconStateElectra,
  DataAvailabilityStatus,
  ExecutionPayloadStatus,
} from '@lodestar/state-transition'
import {
  processAttestations,
  processAttesterSlashing,
  processBlockHeader,
  processBlsToExecutionChange,
  processConsolidationRequest,
  processDeposit,
  processDepositRequest,
  processEth1Data,
  processExecutionPayload,
  processProposerSlashing,
  processRandao,
  processSyncAggregate,
  processVoluntaryExit,
  processWithdrawalRequest,
  processWithdrawals,
} from '@lodestar/state-transition/block'
import type { altair, BeaconBlock, bellatrix, capella, electra } from '@lodestar/types'
import type { BalanceChanges, Step } from './balance-changes.ts'

export const EXTERNAL_DATA = {
  executionPayloadStatus: ExecutionPayloadStatus.valid,
  dataAvailabilityStatus: DataAvailabilityStatus.Available,
}

/** process_block of a block whose signatures are not verified, step by step. The state, of the block's slot, is changed. */
export function applyBlock(state: CachedBeaconStateAllForks, block: BeaconBlock, changes: BalanceChanges): void {
  const fork = state.config.getForkSeq(block.slot)
  const { body } = block
  const proposerIndex = block.proposerIndex
  const step = (name: Step, process: () => void) => {
    process()
    changes.record(state, name)
  }
  /** The reference counts what it gives the proposer in `proposerRewards`; the rest is the step's. */
  const stepWithReward = (name: Step, rewardName: Step, key: 'slashing' | 'syncAggregate', process: () => void) => {
    state.proposerRewards[key] = 0
    step(name, () => {
      process()
      const gwei = state.proposerRewards[key]
      changes.recordPart({ slot: block.slot, step: rewardName, validatorIndex: proposerIndex, gwei })
    })
  }
  processBlockHeader(state, block)
  if (fork >= ForkSeq.capella) {
    const { executionPayload } = body as capella.BeaconBlockBody
    step('withdrawals', () => processWithdrawals(fork, state as CachedBeaconStateCapella, executionPayload))
  }
  if (fork >= ForkSeq.bellatrix) {
    processExecutionPayload(fork, state as CachedBeaconStateBellatrix, body as bellatrix.BeaconBlockBody, EXTERNAL_DATA)
  }
  processRandao(state, block, false)
  processEth1Data(state, body.eth1Data)
  for (const slashing of body.proposerSlashings) {
    stepWithReward('proposer_slashing', 'slashing_report', 'slashing', () =>
      processProposerSlashing(fork, state, slashing, false),
    )
  }
  for (const slashing of body.attesterSlashings) {
    stepWithReward('attester_slashing', 'slashing_report', 'slashing', () =>
      processAttesterSlashing(fork, state, slashing, false),
    )
  }
  for (const attestation of body.attestations) {
    step('attestation', () => processAttestations(fork, state, [attestation], null, false))
  }
  for (const deposit of body.deposits) step('deposit', () => processDeposit(fork, state, deposit))
  for (const exit of body.voluntaryExits) processVoluntaryExit(fork, state, exit, false)
  if (fork >= ForkSeq.capella) {
    for (const change of (body as capella.BeaconBlockBody).blsToExecutionChanges) {
      processBlsToExecutionChange(state as CachedBeaconStateCapella, change)
    }
  }
  if (fork >= ForkSeq.electra) {
    const electra = state as CachedBeaconStateElectra
    const { executionRequests } = body as electra.BeaconBlockBody
    for (const request of executionRequests.deposits) processDepositRequest(fork, electra, request)
    for (const request of executionRequests.withdrawals) processWithdrawalRequest(fork, electra, request)
    for (const request of executionRequests.consolidations) {
      step('consolidation_request', () => processConsolidationRequest(electra, request))
    }
  }
  changes.assertComplete(state)
  stepWithReward('sync_aggregate', 'sync_proposer', 'syncAggregate', () =>
    processSyncAggregate(state as CachedBeaconStateAltair, block as altair.BeaconBlock, false),
  )
  state.commit()
}
