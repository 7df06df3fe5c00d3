import { FAR_FUTURE_EPOCH, ForkSeq } from '@lodestar/params'
import {
  type CachedBeaconStateAllForks,
  type CachedBeaconStateElectra,
  isActiveValidator,
  isSlashableValidator,
  isValidVoluntaryExit,
} from '@lodestar/state-transition'
import type { capella, electra, phase0 } from '@lodestar/types'
import { addressOf, badlySigned, blsChange, GWEI_PER_ETH, newDeposit, topUp } from './deposits.ts'
import type { Dice } from './dice.ts'
import { isMinimal } from './history-config.ts'

const SIGNATURE = new Uint8Array(96)
/** The chain needs proposers and committees until its end. */
const STAYING_SHARE_MIN = 0.55
const SLASHED_SHARE_MAX = 0.15

/** The validators of the state, with their indices. */
export interface Known {
  readonly index: number
  readonly validator: phase0.Validator
}

export function knownValidators(state: CachedBeaconStateAllForks): Known[] {
  return state.validators.getAllReadonlyValues().map((validator, index) => ({ index, validator }))
}

const isStaying = ({ validator }: Known) => validator.exitEpoch === FAR_FUTURE_EPOCH
const credentialsByte = ({ validator }: Known) => validator.withdrawalCredentials[0]

/** Chance's choice of what happens in blocks besides votes: all of it is valid on the state of the block, but for requests. */
export class Operations {
  readonly #dice: Dice
  readonly #genesisValidators: number
  /** Deposits of new keys, from a place in the pool that the seed decides. */
  #newDeposits: number
  #goodLater: phase0.DepositData[] = []

  constructor(dice: Dice, genesisValidators: number) {
    this.#dice = dice
    this.#genesisValidators = genesisValidators
    this.#newDeposits = dice.whole(0, 1000)
  }

  proposerSlashings(state: CachedBeaconStateAllForks, known: readonly Known[]): phase0.ProposerSlashing[] {
    const victim = this.#dice.chance(0.012) ? this.#dice.pickAny(this.#slashable(state, known)) : undefined
    if (victim === undefined) return []
    const header = (root: number) => ({
      message: {
        slot: BigInt(state.slot),
        proposerIndex: victim.index,
        parentRoot: new Uint8Array(32),
        stateRoot: new Uint8Array(32),
        bodyRoot: new Uint8Array(32).fill(root),
      },
      signature: SIGNATURE,
    })
    return [{ signedHeader1: header(1), signedHeader2: header(2) }]
  }

  /** Of two to four, of whom one may be slashed already. */
  attesterSlashings(
    state: CachedBeaconStateAllForks,
    known: readonly Known[],
    slashed: readonly phase0.ProposerSlashing[],
  ): phase0.AttesterSlashing[] {
    if (!this.#dice.chance(0.01)) return []
    const others = this.#slashable(state, known).filter(
      ({ index }) => !slashed.some(({ signedHeader1 }) => signedHeader1.message.proposerIndex === index),
    )
    if (others.length < 2) return []
    const victims = new Set<Known>()
    for (let victim = this.#dice.whole(2, 4); victim > 0; victim--) victims.add(this.#dice.pick(others))
    const before = this.#dice.chance(0.3)
      ? this.#dice.pickAny(known.filter(({ validator }) => validator.slashed))
      : undefined
    if (before !== undefined) victims.add(before)
    const attestingIndices = [...victims].map(({ index }) => index).sort((a, b) => a - b)
    const attestation = (root: number) => ({
      attestingIndices,
      data: {
        slot: BigInt(state.slot),
        index: 0n,
        beaconBlockRoot: new Uint8Array(32).fill(root),
        source: { epoch: 0n, root: new Uint8Array(32) },
        target: { epoch: BigInt(state.epochCtx.epoch), root: new Uint8Array(32) },
      },
      signature: SIGNATURE,
    })
    return [{ attestation1: attestation(1), attestation2: attestation(2) }]
  }

  #slashable(state: CachedBeaconStateAllForks, known: readonly Known[]): readonly Known[] {
    const slashed = known.filter(({ validator }) => validator.slashed).length
    if (slashed > SLASHED_SHARE_MAX * this.#genesisValidators) return []
    const slashable = known.filter(({ validator }) => isSlashableValidator(validator, state.epochCtx.epoch))
    if (state.config.getForkSeq(state.slot) < ForkSeq.electra || this.#dice.chance(0.5)) return slashable
    const consolidations = (state as CachedBeaconStateElectra).pendingConsolidations.getAllReadonlyValues()
    const sources = slashable.filter(({ index }) => consolidations.some(({ sourceIndex }) => sourceIndex === index))
    return sources.length > 0 ? sources : slashable
  }

  voluntaryExits(
    state: CachedBeaconStateAllForks,
    known: readonly Known[],
    slashed: ReadonlySet<number>,
  ): phase0.SignedVoluntaryExit[] {
    if (!this.#dice.chance(0.04)) return []
    const exit = ({ index }: Known) => ({
      message: { epoch: state.epochCtx.epoch, validatorIndex: index },
      signature: SIGNATURE,
    })
    const fork = state.config.getForkSeq(state.slot)
    const candidates = this.#mayLeave(state, known).filter(
      (each) => !slashed.has(each.index) && isValidVoluntaryExit(fork, state, exit(each), false),
    )
    const leaving = this.#dice.pickAny(candidates)
    return leaving === undefined ? [] : [exit(leaving)]
  }

  #mayLeave(state: CachedBeaconStateAllForks, known: readonly Known[]): readonly Known[] {
    const { epoch } = state.epochCtx
    const staying = known.filter((each) => isStaying(each) && isActiveValidator(each.validator, epoch))
    return staying.length > STAYING_SHARE_MIN * this.#genesisValidators ? staying : []
  }

  blsChanges(known: readonly Known[]): capella.SignedBLSToExecutionChange[] {
    if (!this.#dice.chance(0.007)) return []
    const candidates = known.filter((each) => each.index < this.#genesisValidators && credentialsByte(each) === 0)
    const changed = this.#dice.pickAny(candidates)
    return changed === undefined ? [] : [blsChange(changed.index)]
  }

  /** Deposits in the order in which the contract takes them, for genesis validators and for new keys. */
  eth1Deposits(count: number, pubkeys: readonly Uint8Array[]): phase0.DepositData[] {
    return Array.from({ length: count }, () => this.#deposit(pubkeys))
  }

  depositRequests(known: readonly Known[], firstIndex: number): electra.DepositRequest[] {
    if (!this.#dice.chance(0.15)) return []
    const leaving = known.filter((each) => !isStaying(each))
    const among = this.#dice.chance(0.4) && leaving.length > 0 ? leaving : known
    const pubkeys = among.map(({ validator }) => validator.pubkey)
    return Array.from({ length: this.#dice.whole(1, 2) }, (_, i) => ({
      ...this.#deposit(pubkeys),
      index: BigInt(firstIndex + i),
    }))
  }

  #deposit(pubkeys: readonly Uint8Array[]): phase0.DepositData {
    const dice = this.#dice
    const later = this.#goodLater.shift()
    if (later !== undefined) return later
    if (dice.chance(0.87)) return topUp(dice.pick(pubkeys), dice)
    const deposit = newDeposit(this.#newDeposits++)
    if (dice.chance(0.5)) return deposit
    if (dice.chance(0.6)) this.#goodLater.push(deposit)
    return badlySigned(deposit, dice)
  }

  /** EIP-7002: a part, all, and what the chain ignores. */
  withdrawalRequests(state: CachedBeaconStateAllForks, known: readonly Known[]): electra.WithdrawalRequest[] {
    const dice = this.#dice
    const requests: electra.WithdrawalRequest[] = []
    const ask = (from: readonly Known[], amountGwei: number) => {
      const each = dice.pickAny(from)
      if (each === undefined) return
      const sourceAddress = dice.chance(0.95) ? each.validator.withdrawalCredentials.slice(12) : addressOf(0)
      requests.push({ sourceAddress, validatorPubkey: each.validator.pubkey, amount: BigInt(amountGwei) })
    }
    if (dice.chance(0.15)) {
      const rich = known.filter(
        (each) => credentialsByte(each) === 2 && isStaying(each) && state.balances.get(each.index) > 32 * GWEI_PER_ETH,
      )
      ask(rich, dice.pick([1, 1_000_000, GWEI_PER_ETH + 3, 50 * GWEI_PER_ETH]))
    }
    if (dice.chance(0.04)) ask(this.#mayLeave(state, known), 0)
    return requests
  }

  /** EIP-7251: a move from one validator to another, or a switch to compounding where both are the same. */
  consolidationRequests(
    state: CachedBeaconStateAllForks,
    known: readonly Known[],
    { proposerIndex, withdrawn }: { readonly proposerIndex: number; readonly withdrawn: ReadonlySet<number> },
  ): electra.ConsolidationRequest[] {
    const dice = this.#dice
    const requests: electra.ConsolidationRequest[] = []
    const ask = (source: Known | undefined, target: Known | undefined) => {
      if (source === undefined || target === undefined) return
      const sourceAddress = source.validator.withdrawalCredentials.slice(12)
      requests.push({ sourceAddress, sourcePubkey: source.validator.pubkey, targetPubkey: target.validator.pubkey })
    }
    const switching = known.filter((each) => credentialsByte(each) === 1 && isStaying(each))
    // Only the proposer has something above 32 ETH again, in the block that has just paid it out.
    const swept = switching.filter(({ index }) => withdrawn.has(index) && (index === proposerIndex || dice.chance(0.1)))
    const wanted = dice.chance(0.7) ? dice.pickAny(swept) : undefined
    if (wanted !== undefined) ask(wanted, wanted)
    else if (dice.chance(0.05)) {
      const excess = switching.filter(({ index }) => state.balances.get(index) > 32 * GWEI_PER_ETH)
      const each = dice.pickAny(excess.length > 0 ? excess : switching)
      ask(each, each)
    }
    if (dice.chance(0.07)) {
      const compounding = known.filter((each) => credentialsByte(each) === 2 && isStaying(each))
      const sources = this.#mayLeave(state, known).filter((each) => credentialsByte(each) !== 0)
      // With more than its effective balance, or with any.
      const excess = sources.filter(
        ({ index, validator }) => state.balances.get(index) > validator.effectiveBalance + 1000,
      )
      ask(dice.pickAny(dice.chance(0.6) && excess.length > 0 ? excess : sources), dice.pickAny(compounding))
    }
    return requests.slice(0, 2)
  }
}

/** Whether each of an epoch's slots has a block, and how many of its attesters and sync committee take part. */
export interface EpochPlan {
  readonly isEmpty: boolean
  readonly participation: number
}

/** Stretches in which so few vote that nothing is final for more than four epochs, and epochs without blocks. */
export function planEpochs(dice: Dice, epochs: number): EpochPlan[] {
  const stretches = isMinimal ? [0.1, 0.6] : [0]
  const quiet = new Set<number>()
  for (const share of stretches) {
    if (dice.chance(isMinimal ? 0.15 : 0.5)) continue
    const first = Math.floor((share + dice.whole(0, 20) / 100) * epochs)
    for (let epoch = first; epoch < first + dice.whole(7, 10); epoch++) quiet.add(epoch)
  }
  const empty = new Set([dice.whole(1, epochs - 1), dice.whole(1, epochs - 1)])
  return Array.from({ length: epochs }, (_, epoch) => ({
    isEmpty: empty.has(epoch),
    participation: quiet.has(epoch) ? dice.whole(20, 60) / 100 : dice.whole(92, 100) / 100,
  }))
}
