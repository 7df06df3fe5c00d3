import { type BeaconConfig, createBeaconConfig } from '@lodestar/config'
import { mainnetChainConfig, minimalChainConfig } from '@lodestar/config/configs'
import { ACTIVE_PRESET, PresetName } from '@lodestar/params'
import { toSpecJson } from '../../infra/devnet/consensus/chain-config.ts'
import { Dice } from './dice.ts'

export interface HistoryOptions {
  readonly seed: string
  readonly epochs?: number
  /** At genesis. */
  readonly validators?: number
  /** Compares every block and epoch with the reference's own state transition, which doubles the time. */
  readonly isChecked?: boolean
}

export const isMinimal = ACTIVE_PRESET === PresetName.minimal
const BASE = isMinimal ? minimalChainConfig : mainnetChainConfig

/** Mainnet's preset needs more of them for committees of several members, and four times the slots for an epoch. */
export const EPOCHS = isMinimal ? 48 : 12
export const VALIDATORS = isMinimal ? 80 : 600

/** The same for all, so that signatures can be kept from one history to the next. */
export const GENESIS_VALIDATORS_ROOT = new Uint8Array(32).fill(7)
export const GENESIS_FORK_VERSION = BASE.GENESIS_FORK_VERSION

const GWEI_PER_ETH = 1_000_000_000
/** Without blobs nothing limits them. */
const BLOB_SCHEDULE = [{ EPOCH: 0, MAX_BLOBS_PER_BLOCK: 9 }]

/** Fork epochs a few epochs apart; the last forks, which have most events, last longest. */
function forkEpochs(dice: Dice, epochs: number) {
  const gap = () => dice.whole(1, Math.max(1, Math.floor(epochs / 10)))
  const bellatrix = gap()
  const capella = bellatrix + gap()
  const deneb = capella + gap()
  const electra = deneb + gap()
  const fulu = electra + dice.whole(Math.ceil(epochs / 6), Math.ceil(epochs / 4))
  return {
    ALTAIR_FORK_EPOCH: 0,
    BELLATRIX_FORK_EPOCH: bellatrix,
    CAPELLA_FORK_EPOCH: capella,
    DENEB_FORK_EPOCH: deneb,
    ELECTRA_FORK_EPOCH: electra,
    FULU_FORK_EPOCH: fulu,
    GLOAS_FORK_EPOCH: Number.POSITIVE_INFINITY,
    HEZE_FORK_EPOCH: Number.POSITIVE_INFINITY,
  }
}

/** The configuration of a history: short delays and churns, so that much happens in few epochs. */
export function historyConfig({ seed, epochs = EPOCHS }: HistoryOptions): BeaconConfig {
  const dice = new Dice(seed, 'configuration')
  const activationExitChurn = dice.pick([64, 96, 128]) * GWEI_PER_ETH
  const chainConfig = {
    ...BASE,
    ...forkEpochs(dice, epochs),
    CONFIG_NAME: 'history',
    TERMINAL_TOTAL_DIFFICULTY: 0n,
    BLOB_SCHEDULE,
    // With 0 a validator is swept while it can still be rewarded for its last epoch: its balance is at zero by then.
    MIN_VALIDATOR_WITHDRAWABILITY_DELAY: dice.pick([0, 0, 1, 3]),
    SHARD_COMMITTEE_PERIOD: dice.whole(0, 2),
    INACTIVITY_SCORE_BIAS: dice.pick([1, 4]),
    INACTIVITY_SCORE_RECOVERY_RATE: dice.pick([1, 16]),
    EJECTION_BALANCE: dice.pick([16, 24, 30]) * GWEI_PER_ETH,
    MIN_PER_EPOCH_CHURN_LIMIT: dice.whole(2, 6),
    MAX_PER_EPOCH_ACTIVATION_CHURN_LIMIT: dice.whole(2, 6),
    MAX_PER_EPOCH_ACTIVATION_EXIT_CHURN_LIMIT: activationExitChurn,
    // What activations and exits leave of it is the churn of consolidations.
    MIN_PER_EPOCH_CHURN_LIMIT_ELECTRA: activationExitChurn + dice.pick([64, 128]) * GWEI_PER_ETH,
  }
  return createBeaconConfig(chainConfig, GENESIS_VALIDATORS_ROOT)
}

/** What `GET /eth/v1/config/spec` of a node of the history would answer: preset and configuration, numbers as decimal text. */
export function configOf(options: HistoryOptions): Readonly<Record<string, string>> {
  const entries = Object.entries(toSpecJson(historyConfig(options)))
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}
