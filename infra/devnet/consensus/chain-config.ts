import { type BeaconConfig, type ChainConfig, createBeaconConfig, specValuesToJson } from '@lodestar/config'
import { mainnetChainConfig } from '@lodestar/config/configs'
import * as params from '@lodestar/params'
import { activePreset, SLOTS_PER_EPOCH } from '@lodestar/params'
import { bytesOf, type Hex } from '../../../schemas/eth/hex.ts'
import type { ChainClock } from '../../../schemas/eth/time.ts'
import { GENESIS_FORK_VERSION } from './deposits.ts'

/** The network's own name in /eth/v1/config/spec. */
const CONFIG_NAME = 'devnet'

/** Blobs per block that Fulu allows from genesis; the devnet's blocks carry none. */
const BLOBS_PER_BLOCK_MAX = 21

export interface NetworkFacts {
  readonly genesisTimeSec: number
  /** Chain id of the execution side. */
  readonly chainId: number
  readonly depositContractAddress: Hex
  readonly validators: number
  readonly shardCommitteePeriodEpochs?: number | undefined
  readonly withdrawabilityDelayEpochs?: number | undefined
  readonly secondsPerSlot?: number | undefined
}

/** GENESIS_FORK_VERSION is fork number 0, Fulu is number 6. */
function forkVersion(forkNumber: number): Uint8Array {
  const version = Uint8Array.from(GENESIS_FORK_VERSION)
  version[3] = forkNumber
  return version
}

/** Mainnet's configuration with all forks up to Fulu at genesis and the devnet's own versions, chain and contract. */
function toChainConfig(facts: NetworkFacts): ChainConfig {
  const {
    secondsPerSlot = mainnetChainConfig.SECONDS_PER_SLOT,
    shardCommitteePeriodEpochs = mainnetChainConfig.SHARD_COMMITTEE_PERIOD,
    withdrawabilityDelayEpochs = mainnetChainConfig.MIN_VALIDATOR_WITHDRAWABILITY_DELAY,
  } = facts
  return {
    ...mainnetChainConfig,
    CONFIG_NAME,
    SECONDS_PER_SLOT: secondsPerSlot,
    SLOT_DURATION_MS: secondsPerSlot * 1000,
    TERMINAL_TOTAL_DIFFICULTY: 0n,
    MIN_GENESIS_ACTIVE_VALIDATOR_COUNT: facts.validators,
    MIN_GENESIS_TIME: facts.genesisTimeSec,
    GENESIS_DELAY: 0,
    GENESIS_FORK_VERSION,
    ALTAIR_FORK_VERSION: forkVersion(1),
    ALTAIR_FORK_EPOCH: 0,
    BELLATRIX_FORK_VERSION: forkVersion(2),
    BELLATRIX_FORK_EPOCH: 0,
    CAPELLA_FORK_VERSION: forkVersion(3),
    CAPELLA_FORK_EPOCH: 0,
    DENEB_FORK_VERSION: forkVersion(4),
    DENEB_FORK_EPOCH: 0,
    ELECTRA_FORK_VERSION: forkVersion(5),
    ELECTRA_FORK_EPOCH: 0,
    FULU_FORK_VERSION: forkVersion(6),
    FULU_FORK_EPOCH: 0,
    GLOAS_FORK_VERSION: forkVersion(7),
    HEZE_FORK_VERSION: forkVersion(8),
    DEPOSIT_CHAIN_ID: facts.chainId,
    DEPOSIT_NETWORK_ID: facts.chainId,
    DEPOSIT_CONTRACT_ADDRESS: bytesOf(facts.depositContractAddress),
    SHARD_COMMITTEE_PERIOD: shardCommitteePeriodEpochs,
    MIN_VALIDATOR_WITHDRAWABILITY_DELAY: withdrawabilityDelayEpochs,
    BLOB_SCHEDULE: [{ EPOCH: 0, MAX_BLOBS_PER_BLOCK: BLOBS_PER_BLOCK_MAX }],
  }
}

export function createDevnetConfig(facts: NetworkFacts, genesisValidatorsRoot: Uint8Array): BeaconConfig {
  return createBeaconConfig(toChainConfig(facts), genesisValidatorsRoot)
}

export function devnetClock(config: BeaconConfig, genesisTimeSec: number): ChainClock {
  return { genesisTimeSec, secondsPerSlot: config.SLOT_DURATION_MS / 1000, slotsPerEpoch: SLOTS_PER_EPOCH }
}

/** Constants that beacon nodes report in config/spec beside preset and configuration. */
const REPORTED_CONSTANTS = {
  BLS_WITHDRAWAL_PREFIX: Uint8Array.of(0x00),
  ETH1_ADDRESS_WITHDRAWAL_PREFIX: Uint8Array.of(0x01),
  COMPOUNDING_WITHDRAWAL_PREFIX: Uint8Array.of(0x02),
  DOMAIN_BEACON_PROPOSER: params.DOMAIN_BEACON_PROPOSER,
  DOMAIN_BEACON_ATTESTER: params.DOMAIN_BEACON_ATTESTER,
  DOMAIN_RANDAO: params.DOMAIN_RANDAO,
  DOMAIN_DEPOSIT: params.DOMAIN_DEPOSIT,
  DOMAIN_VOLUNTARY_EXIT: params.DOMAIN_VOLUNTARY_EXIT,
  DOMAIN_SYNC_COMMITTEE: params.DOMAIN_SYNC_COMMITTEE,
  DOMAIN_BLS_TO_EXECUTION_CHANGE: params.DOMAIN_BLS_TO_EXECUTION_CHANGE,
  GENESIS_SLOT: params.GENESIS_SLOT,
  GENESIS_EPOCH: params.GENESIS_EPOCH,
  TIMELY_SOURCE_FLAG_INDEX: params.TIMELY_SOURCE_FLAG_INDEX,
  TIMELY_TARGET_FLAG_INDEX: params.TIMELY_TARGET_FLAG_INDEX,
  TIMELY_HEAD_FLAG_INDEX: params.TIMELY_HEAD_FLAG_INDEX,
  TIMELY_SOURCE_WEIGHT: params.TIMELY_SOURCE_WEIGHT,
  TIMELY_TARGET_WEIGHT: params.TIMELY_TARGET_WEIGHT,
  TIMELY_HEAD_WEIGHT: params.TIMELY_HEAD_WEIGHT,
  SYNC_REWARD_WEIGHT: params.SYNC_REWARD_WEIGHT,
  PROPOSER_WEIGHT: params.PROPOSER_WEIGHT,
  WEIGHT_DENOMINATOR: params.WEIGHT_DENOMINATOR,
} as const

/** The data of GET /eth/v1/config/spec: preset, configuration and constants, all values as text. */
export function toSpecJson(config: BeaconConfig): Record<string, unknown> {
  const chainKeys = Object.keys(mainnetChainConfig) as (keyof ChainConfig)[]
  const chain = Object.fromEntries(chainKeys.map((key) => [key, config[key]]))
  return specValuesToJson({ ...activePreset, ...chain, ...REPORTED_CONSTANTS } as Parameters<
    typeof specValuesToJson
  >[0])
}
