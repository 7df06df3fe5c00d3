import type { BeaconConfig } from '@lodestar/config'
import {
  EFFECTIVE_BALANCE_INCREMENT,
  EPOCHS_PER_HISTORICAL_VECTOR,
  EPOCHS_PER_SLASHINGS_VECTOR,
  FAR_FUTURE_EPOCH,
  MAX_EFFECTIVE_BALANCE,
  SYNC_COMMITTEE_SIZE,
} from '@lodestar/params'
import { type CachedBeaconStateAltair, createCachedBeaconState, createPubkeyCache } from '@lodestar/state-transition'
import { type phase0, ssz } from '@lodestar/types'
import { type Credentials, credentialsOf, type DepositTree, GWEI_PER_ETH, genesisPubkey } from './deposits.ts'
import type { Dice } from './dice.ts'
import { GENESIS_VALIDATORS_ROOT } from './history-config.ts'

const GENESIS_TIME_SEC = 1_700_000_000
/** Eth1 deposits that the chain knows of at its beginning. */
export const GENESIS_DEPOSITS = 3
/** The last of the genesis exits, as a part of the history: the exit queue begins behind it. */
const EXIT_SHARE_MAX = 0.2
/** A penalty of 32 ETH times this is still exact in the reference's doubles. */
const INACTIVITY_SCORE_MAX = 200_000

interface Member {
  readonly validator: phase0.Validator
  readonly balanceGwei: number
  readonly inactivityScore: number
  /** Is worth a seat in the sync committee: little can go wrong with the others. */
  readonly isOdd: boolean
}

type Life = 'active' | 'waiting' | 'poor' | 'exiting' | 'slashed' | 'withdrawable' | 'empty'

const LIVES: readonly Life[] = [
  ...new Array<Life>(28).fill('active'),
  ...(['waiting', 'waiting', 'poor', 'exiting', 'exiting', 'slashed', 'slashed', 'withdrawable', 'empty'] as const),
]

const CREDENTIALS: readonly Credentials[] = ['eth1', 'eth1', 'eth1', 'bls', 'compounding']

function balanceGwei(life: Life, dice: Dice): number {
  switch (life) {
    case 'empty':
      return dice.pick([0, 1, 1000, dice.whole(1, 200_000)])
    case 'poor':
      return dice.whole(15 * GWEI_PER_ETH, 31 * GWEI_PER_ETH)
    case 'waiting': // with a whole effective balance it would be activated
      return dice.whole(0, 32 * GWEI_PER_ETH - 1)
    default:
      return 32 * GWEI_PER_ETH + dice.pick([-1, 0, 1, 8]) * dice.whole(0, 900_000_000)
  }
}

function epochsOf(life: Life, dice: Dice, { config, epochs }: GenesisOptions) {
  const isSlashed = life === 'slashed'
  const none = { activationEligibilityEpoch: FAR_FUTURE_EPOCH, activationEpoch: FAR_FUTURE_EPOCH }
  const staying = { exitEpoch: FAR_FUTURE_EPOCH, withdrawableEpoch: FAR_FUTURE_EPOCH }
  const active = { activationEligibilityEpoch: 0, activationEpoch: 0 }
  if (life === 'waiting') return { ...none, ...staying }
  if (life === 'withdrawable' || life === 'empty') return { ...active, exitEpoch: 0, withdrawableEpoch: 0 }
  if (life !== 'exiting' && !isSlashed) return { ...active, ...staying }
  const exitEpoch = dice.whole(1, Math.ceil(epochs * EXIT_SHARE_MAX))
  // The correlation penalty comes half a vector before; never in the first transition, where the reference has none.
  const slashedUntil = EPOCHS_PER_SLASHINGS_VECTOR / 2 + dice.whole(1, epochs)
  const withdrawableEpoch = isSlashed ? slashedUntil : exitEpoch + config.MIN_VALIDATOR_WITHDRAWABILITY_DELAY
  return { ...active, exitEpoch, withdrawableEpoch }
}

function member(index: number, dice: Dice, options: GenesisOptions): Member {
  const life = dice.pick(LIVES)
  const kind = dice.pick(CREDENTIALS)
  const gwei = balanceGwei(life, dice) + (kind === 'compounding' && life === 'active' ? 30 * GWEI_PER_ETH : 0)
  const whole = gwei - (gwei % EFFECTIVE_BALANCE_INCREMENT)
  return {
    balanceGwei: gwei,
    inactivityScore: dice.chance(0.15) ? dice.pick([1, 3, 100, dice.whole(0, INACTIVITY_SCORE_MAX)]) : 0,
    isOdd: life !== 'active' && life !== 'waiting',
    validator: {
      pubkey: genesisPubkey(index),
      withdrawalCredentials: credentialsOf(index, kind),
      effectiveBalance: Math.min(MAX_EFFECTIVE_BALANCE, whole),
      slashed: life === 'slashed',
      ...epochsOf(life, dice, options),
    },
  }
}

/** Any validators, several of them more than once. */
function syncCommittee(members: readonly Member[], dice: Dice) {
  const odd = members.filter((each) => each.isOdd)
  const seat = () => (odd.length > 0 && dice.chance(0.3) ? dice.pick(odd) : dice.pick(members)).validator.pubkey
  const pubkeys = Array.from({ length: SYNC_COMMITTEE_SIZE }, seat)
  return ssz.altair.SyncCommittee.toViewDU({ pubkeys, aggregatePubkey: new Uint8Array(48) })
}

/** What was slashed before; the correlation penalties of the first half of the history are measured by it. */
function slashings(members: readonly Member[], dice: Dice): number[] {
  const sums = new Array<number>(EPOCHS_PER_SLASHINGS_VECTOR).fill(0)
  const activeEth = members.length * 32
  // The last of the vector: the first ones are soon reset.
  sums[EPOCHS_PER_SLASHINGS_VECTOR - 1] = dice.pick([0, 33, activeEth / 4, activeEth]) * EFFECTIVE_BALANCE_INCREMENT
  return sums
}

export interface GenesisOptions {
  readonly config: BeaconConfig
  readonly validators: number
  /** Over which the correlation penalties are spread. */
  readonly epochs: number
  readonly deposits: DepositTree
}

/** A state of slot 0 in Altair whose validators are in every state of life. */
export function randomGenesis(dice: Dice, options: GenesisOptions): CachedBeaconStateAltair {
  const { config } = options
  const members = Array.from({ length: options.validators }, (_, index) => member(index, dice, options))
  const view = ssz.altair.BeaconState.defaultViewDU()
  view.genesisTime = GENESIS_TIME_SEC
  view.genesisValidatorsRoot = GENESIS_VALIDATORS_ROOT
  view.fork = ssz.phase0.Fork.toViewDU({
    previousVersion: config.GENESIS_FORK_VERSION,
    currentVersion: config.ALTAIR_FORK_VERSION,
    epoch: 0,
  })
  view.latestBlockHeader = ssz.phase0.BeaconBlockHeader.toViewDU({
    ...ssz.phase0.BeaconBlockHeader.defaultValue(),
    bodyRoot: ssz.altair.BeaconBlockBody.hashTreeRoot(ssz.altair.BeaconBlockBody.defaultValue()),
  })
  view.eth1Data = ssz.phase0.Eth1Data.toViewDU(options.deposits.eth1Data(GENESIS_DEPOSITS))
  view.validators = ssz.phase0.Validators.toViewDU(members.map(({ validator }) => validator))
  view.balances = ssz.phase0.Balances.toViewDU(members.map((each) => each.balanceGwei))
  view.inactivityScores = ssz.altair.InactivityScores.toViewDU(members.map((each) => each.inactivityScore))
  view.previousEpochParticipation = ssz.altair.EpochParticipation.toViewDU(members.map(() => 0))
  view.currentEpochParticipation = ssz.altair.EpochParticipation.toViewDU(members.map(() => 0))
  const mix = dice.bytes(32)
  view.randaoMixes = ssz.phase0.RandaoMixes.toViewDU(Array.from({ length: EPOCHS_PER_HISTORICAL_VECTOR }, () => mix))
  view.slashings = ssz.phase0.Slashings.toViewDU(slashings(members, dice))
  view.currentSyncCommittee = syncCommittee(members, dice)
  view.nextSyncCommittee = syncCommittee(members, dice)
  view.commit()
  return createCachedBeaconState(view, { config, pubkeyCache: createPubkeyCache() }) as CachedBeaconStateAltair
}
