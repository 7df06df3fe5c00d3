import type { BeaconConfig } from '@lodestar/config'
import {
  EFFECTIVE_BALANCE_INCREMENT,
  EPOCHS_PER_HISTORICAL_VECTOR,
  FAR_FUTURE_EPOCH,
  ForkSeq,
  MAX_EFFECTIVE_BALANCE,
  MAX_EFFECTIVE_BALANCE_ELECTRA,
} from '@lodestar/params'
import {
  type CachedBeaconStateFulu,
  computeProposerIndices,
  createCachedBeaconState,
  createPubkeyCache,
  executionPayloadToPayloadHeader,
  getNextSyncCommittee,
} from '@lodestar/state-transition'
import { type phase0, ssz } from '@lodestar/types'
import { GWEI_PER_ETH } from '../../../schemas/eth/units.ts'
import type { ExecutionEngine } from '../engine.ts'
import { createDevnetConfig, type NetworkFacts } from './chain-config.ts'
import { withdrawalCredentialsFor } from './deposits.ts'
import { pubkeyOf, withdrawalAddressOf } from './keys.ts'
import { seededBytes } from './random.ts'

/** Every n-th genesis validator has 0x02 credentials and more than 32 ETH. */
const COMPOUNDING_EVERY = 16
/** Every n-th genesis validator starts above 32 ETH, so that partial withdrawals begin with the first block. */
const ABOVE_MAXIMUM_EVERY = 5

interface GenesisValidator {
  readonly validator: phase0.Validator
  readonly balanceGwei: number
}

/** Balances are spread so that validators reach the withdrawal threshold at different times. */
function startingBalanceGwei(index: number, compounding: boolean): number {
  if (compounding) return (34 + ((index * 7) % 60)) * GWEI_PER_ETH + index * 1_000_003
  if (index % ABOVE_MAXIMUM_EVERY === 0) return MAX_EFFECTIVE_BALANCE + 20_000_000 + index * 10_007
  return MAX_EFFECTIVE_BALANCE - ((index * 37) % 100) * 1_000_000
}

function genesisValidator(index: number): GenesisValidator {
  const compounding = index % COMPOUNDING_EVERY === COMPOUNDING_EVERY - 1
  const balanceGwei = startingBalanceGwei(index, compounding)
  const maximum = compounding ? MAX_EFFECTIVE_BALANCE_ELECTRA : MAX_EFFECTIVE_BALANCE
  const kind = compounding ? 'compounding' : 'eth1'
  const rounded = Math.round(balanceGwei / EFFECTIVE_BALANCE_INCREMENT) * EFFECTIVE_BALANCE_INCREMENT
  return {
    balanceGwei,
    validator: {
      pubkey: pubkeyOf(index),
      withdrawalCredentials: withdrawalCredentialsFor(withdrawalAddressOf(index), kind),
      effectiveBalance: Math.min(maximum, rounded),
      slashed: false,
      activationEligibilityEpoch: 0,
      activationEpoch: 0,
      exitEpoch: FAR_FUTURE_EPOCH,
      withdrawableEpoch: FAR_FUTURE_EPOCH,
    },
  }
}

export interface Genesis {
  readonly config: BeaconConfig
  readonly state: CachedBeaconStateFulu
  /** The header's block: an empty body whose state root is that of the genesis state; never signed. */
  readonly blockBytes: Uint8Array
  readonly blockRoot: Uint8Array
}

export interface GenesisOptions {
  readonly seed: string
  readonly facts: NetworkFacts
  readonly engine: Pick<ExecutionEngine, 'genesisHash' | 'genesisPayload'>
}

function genesisView(options: GenesisOptions, members: readonly GenesisValidator[]) {
  const view = ssz.fulu.BeaconState.defaultViewDU()
  view.genesisTime = options.facts.genesisTimeSec
  view.latestBlockHeader = ssz.phase0.BeaconBlockHeader.toViewDU({
    ...ssz.phase0.BeaconBlockHeader.defaultValue(),
    bodyRoot: ssz.fulu.BeaconBlockBody.hashTreeRoot(ssz.fulu.BeaconBlockBody.defaultValue()),
  })
  const executionHash = options.engine.genesisPayload.blockHash
  view.eth1Data = ssz.phase0.Eth1Data.toViewDU({
    depositRoot: new Uint8Array(32),
    depositCount: 0n,
    blockHash: executionHash,
  })
  // Deposits come as execution requests from the first one on; there is no older queue to wait for.
  view.depositRequestsStartIndex = 0n
  view.validators = ssz.phase0.Validators.toViewDU(members.map((member) => member.validator))
  view.balances = ssz.phase0.Balances.toViewDU(members.map((member) => member.balanceGwei))
  view.inactivityScores = ssz.altair.InactivityScores.toViewDU(members.map(() => 0))
  view.previousEpochParticipation = ssz.altair.EpochParticipation.toViewDU(members.map(() => 0))
  view.currentEpochParticipation = ssz.altair.EpochParticipation.toViewDU(members.map(() => 0))
  // The mixes come from the seed, so that another seed gives other committees and proposers from the first epoch on.
  const mix = seededBytes(options.seed, 'genesis randao')
  view.randaoMixes = ssz.phase0.RandaoMixes.toViewDU(Array.from({ length: EPOCHS_PER_HISTORICAL_VECTOR }, () => mix))
  view.latestExecutionPayloadHeader = ssz.deneb.ExecutionPayloadHeader.toViewDU(
    executionPayloadToPayloadHeader(ForkSeq.fulu, options.engine.genesisPayload) as never,
  )
  return view
}

/** The state and block of slot 0: all forks up to Fulu active, all validators active, sync committees and proposers drawn. */
export function createGenesis(options: GenesisOptions): Genesis {
  const members = Array.from({ length: options.facts.validators }, (_, index) => genesisValidator(index))
  const view = genesisView(options, members)
  view.genesisValidatorsRoot = view.validators.hashTreeRoot()
  const config = createDevnetConfig(options.facts, view.genesisValidatorsRoot)
  view.fork = ssz.phase0.Fork.toViewDU({
    previousVersion: config.ELECTRA_FORK_VERSION,
    currentVersion: config.FULU_FORK_VERSION,
    epoch: 0,
  })
  const active = Uint32Array.from(members.keys())
  const increments = Uint16Array.from(members, (m) => m.validator.effectiveBalance / EFFECTIVE_BALANCE_INCREMENT)
  const { syncCommittee } = getNextSyncCommittee(ForkSeq.fulu, view, active, increments)
  view.currentSyncCommittee = ssz.altair.SyncCommittee.toViewDU(syncCommittee)
  view.nextSyncCommittee = ssz.altair.SyncCommittee.toViewDU(syncCommittee)
  view.commit()
  const immutable = { config, pubkeyCache: createPubkeyCache() }
  const draft = createCachedBeaconState(view, immutable) as CachedBeaconStateFulu
  const { currentShuffling, nextShuffling } = draft.epochCtx
  const lookahead = [currentShuffling, nextShuffling].flatMap((shuffling) =>
    computeProposerIndices(ForkSeq.fulu, draft, shuffling, shuffling.epoch),
  )
  view.proposerLookahead = ssz.fulu.ProposerLookahead.toViewDU(lookahead)
  view.commit()
  const state = createCachedBeaconState(view, immutable) as CachedBeaconStateFulu
  return { config, state, ...genesisBlock(state.hashTreeRoot()) }
}

function genesisBlock(stateRoot: Uint8Array): Pick<Genesis, 'blockBytes' | 'blockRoot'> {
  const signedBlock = ssz.fulu.SignedBeaconBlock.defaultValue()
  signedBlock.message.stateRoot = stateRoot
  return {
    blockBytes: ssz.fulu.SignedBeaconBlock.serialize(signedBlock),
    blockRoot: ssz.fulu.BeaconBlock.hashTreeRoot(signedBlock.message),
  }
}
