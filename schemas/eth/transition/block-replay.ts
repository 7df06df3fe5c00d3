import { giveBack, lendZeros } from '../../memory.ts'
import type { BlockAttestation, BlockOperations, BlockWithdrawal, ConsolidationRequest } from './block-operations.ts'
import { Committees } from './committees.ts'
import type { ReplayedBalances } from './effects.ts'
import { type ChainRules, type ForkRules, INCREMENT_GWEI, isFrom, type QueueRules } from './fork-rules.ts'
import type { Newcomers } from './newcomers.ts'
import {
  baseRewardPerIncrement,
  COMPOUNDING_PREFIX,
  EXECUTION_PREFIX,
  HEAD_FLAG,
  SOURCE_FLAG,
  type StateColumns,
  TARGET_FLAG,
  WEIGHT_DENOMINATOR,
} from './state-columns.ts'
import { Voters } from './voters.ts'

// Weights out of 64, and what they make of a proposer's part (consensus-specs, altair).
const SYNC_WEIGHT = 2
const PROPOSER_WEIGHT = 8
const PROPOSER_DENOMINATOR = ((WEIGHT_DENOMINATOR - PROPOSER_WEIGHT) * WEIGHT_DENOMINATOR) / PROPOSER_WEIGHT
const HEAD_DELAY_SLOTS = 1
const ROOT_BYTES = 32
const ADDRESS_AT = 12

export interface BlockReplayParts {
  /** Before the transition into the epoch: who was slashed and withdrawable then, and which partial withdrawals wait. */
  readonly before: StateColumns
  /** After the epoch's last slot: effective balances, committees and roots of the epoch. */
  readonly after: StateColumns
  readonly epoch: number
  /** Effective balance of all that are active in it, in increments; 1 at least. */
  readonly activeIncrements: number
  readonly rules: ChainRules
  readonly fork: ForkRules
  /** Of chains with Electra. */
  readonly queues: QueueRules | undefined
  readonly balances: ReplayedBalances
  readonly newcomers: Newcomers
  /** As the transition leaves it. */
  readonly previousParticipation: Uint8Array
  /** Those of epochs before. */
  readonly committees: readonly Committees[]
}

/** Replays an epoch's blocks, in order, as far as they change balances and participation. */
export class BlockReplay {
  readonly #previousParticipation: Uint8Array
  readonly #currentParticipation: Uint8Array
  readonly #parts: BlockReplayParts
  readonly #perIncrement: number
  readonly #seatReward: number
  readonly #seatProposerReward: number
  readonly #slashed: Uint8Array
  readonly #committees = new Map<number, Committees>()
  /** Seats that attestations to the same have named, by the flags that they set, in bits as theirs lie: a slot's aggregates name most of them again. */
  readonly #named = new Map<string, Uint8Array[]>()
  readonly #switched = new Set<number>()
  /** Validators whose withdrawal credentials a block of the epoch has changed to an address. */
  readonly #changed = new Set<number>()
  readonly #voters = new Voters()
  #partialsDone = 0

  constructor(parts: BlockReplayParts) {
    const { before, after, rules, activeIncrements: total } = parts
    this.#parts = parts
    this.#previousParticipation = lendZeros(Uint8Array, after.validators)
    this.#previousParticipation.set(parts.previousParticipation)
    this.#currentParticipation = lendZeros(Uint8Array, after.validators)
    this.#slashed = lendZeros(Uint8Array, after.validators)
    this.#slashed.set(before.slashed)
    this.#perIncrement = baseRewardPerIncrement(rules.baseRewardFactor, total, INCREMENT_GWEI)
    const share = Math.floor((this.#perIncrement * total * SYNC_WEIGHT) / WEIGHT_DENOMINATOR)
    this.#seatReward = Math.floor(Math.floor(share / rules.slotsPerEpoch) / rules.syncCommitteeSize)
    this.#seatProposerReward = Math.floor((this.#seatReward * PROPOSER_WEIGHT) / (WEIGHT_DENOMINATOR - PROPOSER_WEIGHT))
  }

  /** Those that attestations of the epoch's blocks were of. */
  get committees(): readonly Committees[] {
    return [...this.#committees.values()]
  }

  /** Whether the blocks have set the flags that the state has, byte for byte. */
  isParticipationOf(state: Pick<StateColumns, 'previousParticipation' | 'currentParticipation'>): boolean {
    return (
      Buffer.compare(this.#previousParticipation, state.previousParticipation) === 0 &&
      Buffer.compare(this.#currentParticipation, state.currentParticipation) === 0
    )
  }

  /** Nothing can be asked of it afterwards. */
  giveBack(): void {
    giveBack([this.#previousParticipation, this.#currentParticipation, this.#slashed])
  }

  /** In the order of `process_block`: what changed before counts for what comes after. */
  apply(block: BlockOperations): void {
    this.#withdraw(block)
    this.#slash(block)
    block.attestations.forEach((attestation, place) => {
      this.#attest(block, attestation, place)
    })
    if (!isFrom(this.#parts.after.fork, 'electra')) this.#deposit(block)
    for (const index of block.credentialChanges) this.#changed.add(index)
    block.consolidationRequests.forEach((request, place) => {
      this.#switchToCompounding(block.slot, request, place)
    })
    this.#syncAggregate(block)
  }

  #withdraw({ slot, withdrawals }: BlockOperations): void {
    const requested = this.#requested(withdrawals)
    withdrawals.forEach(({ index, validatorIndex, amountGwei }, place) => {
      const swept = this.#isWithdrawable(validatorIndex) ? 'withdrawal_full' : 'withdrawal_partial'
      const kind = place < requested ? 'withdrawal_requested' : swept
      this.#parts.balances.record({ slot, validatorIndex, kind, reference: index, gwei: -amountGwei })
    })
  }

  /** How many of a payload's withdrawals, from its first, answer requests (consensus-specs, electra: get_expected_withdrawals). */
  #requested(withdrawals: readonly BlockWithdrawal[]): number {
    const { before, after, epoch, queues } = this.#parts
    const waiting = before.queues?.partials ?? []
    if (queues === undefined || !isFrom(after.fork, 'electra')) return 0
    let paid = 0
    for (; this.#partialsDone < waiting.length && paid < queues.partialsPerSweepMax; this.#partialsDone++) {
      const partial = waiting[this.#partialsDone]
      if (partial === undefined || partial.withdrawableEpoch > epoch) break
      const { validatorIndex, amountGwei } = partial
      const earlier = withdrawals.slice(0, paid).filter((other) => other.validatorIndex === validatorIndex)
      const taken = earlier.reduce((sum, other) => sum + other.amountGwei, 0)
      const excess = (this.#parts.balances.gwei[validatorIndex] as number) - taken - queues.activationBalanceMinGwei
      // Those that are exiting by now are passed over: the payload has none of theirs, or a sweep of another amount.
      const next = withdrawals[paid]
      if (next?.validatorIndex === validatorIndex && next.amountGwei === Math.min(excess, amountGwei)) paid++
    }
    return paid
  }

  #isWithdrawable(index: number): boolean {
    return (
      index < this.#parts.before.validators &&
      (this.#parts.before.withdrawableEpochs[index] as number) <= this.#parts.epoch
    )
  }

  #slash(block: BlockOperations): void {
    const { after, epoch, fork, balances } = this.#parts
    const accused = [
      ...block.proposerSlashings.map((validator) => [validator, 'proposer_proposer_slashings'] as const),
      ...block.attesterSlashings.flat().map((validator) => [validator, 'proposer_attester_slashings'] as const),
    ]
    for (const [validatorIndex, rewardKind] of accused) {
      const hasBegun = (after.activationEpochs[validatorIndex] as number) <= epoch
      if (this.#slashed[validatorIndex] !== 0 || !hasBegun || this.#isWithdrawable(validatorIndex)) continue
      this.#slashed[validatorIndex] = 1
      const effectiveGwei = (after.effectiveIncrements[validatorIndex] as number) * INCREMENT_GWEI
      const { slot, proposerIndex } = block
      const penalty = -Math.floor(effectiveGwei / fork.slashingPenaltyQuotient)
      balances.record({ slot, validatorIndex, kind: 'slashing_penalty', reference: 0, gwei: penalty })
      // The block's proposer is the whistleblower, too, so both parts are its own.
      const gwei = Math.floor(effectiveGwei / fork.whistleblowerQuotient)
      const part = { kind: rewardKind, reference: validatorIndex }
      balances.record({ slot, validatorIndex: proposerIndex, ...part, gwei })
    }
  }

  #attest(block: BlockOperations, attestation: BlockAttestation, place: number): void {
    const { after, epoch, balances } = this.#parts
    const flags = this.#flagsOf(block.slot, attestation)
    const participation = attestation.targetEpoch === epoch ? this.#currentParticipation : this.#previousParticipation
    const committees = this.#committeesOf(attestation.targetEpoch)
    const { aggregationBits } = attestation
    const named = this.#namedBy(attestation, flags)
    let weighted = 0
    let bit = 0
    for (const committeeIndex of attestation.committees) {
      const committee = committees.of(attestation.slot, committeeIndex)
      const voters = this.#voters.take(committee, bit, { aggregationBits, named })
      weighted += voters.setFlags(flags, participation, after.effectiveIncrements)
      bit += committee.length
    }
    addBits(named, aggregationBits)
    const gwei = Math.floor((weighted * this.#perIncrement) / PROPOSER_DENOMINATOR)
    const { slot, proposerIndex } = block
    balances.record({ slot, validatorIndex: proposerIndex, kind: 'proposer_attestations', reference: place, gwei })
  }

  /** Whoever was named with these flags, and maybe others, has them: a later aggregate of the same votes sets fewer. */
  #namedBy({ slot, targetEpoch, committees, aggregationBits }: BlockAttestation, flags: number): Uint8Array {
    const key = `${targetEpoch} ${slot} ${committees.join()}`
    const byFlags = this.#named.get(key) ?? []
    this.#named.set(key, byFlags)
    const known = byFlags[flags]
    if (known?.length === aggregationBits.length) return known
    const named = new Uint8Array(aggregationBits.length)
    byFlags.forEach((others, set) => {
      if ((flags & ~set) === 0 && others.length === named.length) addBits(named, others)
    })
    byFlags[flags] = named
    return named
  }

  /** get_attestation_participation_flag_indices; the source of an attestation in a valid block is right. */
  #flagsOf(blockSlot: number, { slot, beaconBlockRoot, targetEpoch, targetRoot }: BlockAttestation): number {
    const { after, rules } = this.#parts
    const delay = blockSlot - slot
    const isTarget = this.#isRootAt(targetEpoch * rules.slotsPerEpoch, targetRoot)
    const isHead = isTarget && this.#isRootAt(slot, beaconBlockRoot)
    const isTargetTimely = isFrom(after.fork, 'deneb') || delay <= rules.slotsPerEpoch
    return (
      (delay <= Math.floor(Math.sqrt(rules.slotsPerEpoch)) ? SOURCE_FLAG : 0) |
      (isTarget && isTargetTimely ? TARGET_FLAG : 0) |
      (isHead && delay === HEAD_DELAY_SLOTS ? HEAD_FLAG : 0)
    )
  }

  #isRootAt(slot: number, root: Uint8Array): boolean {
    const { after, rules } = this.#parts
    const at = (slot % rules.slotsPerHistoricalRoot) * ROOT_BYTES
    return Buffer.compare(after.blockRoots.subarray(at, at + ROOT_BYTES), root) === 0
  }

  #committeesOf(epoch: number): Committees {
    const known = this.#committees.get(epoch)
    if (known !== undefined) return known
    const { after, rules, committees } = this.#parts
    const drawn = Committees.of(after, rules, epoch, committees)
    this.#committees.set(epoch, drawn)
    return drawn
  }

  #deposit({ slot, deposits }: BlockOperations): void {
    deposits.forEach((deposit, reference) => {
      const validatorIndex = this.#parts.newcomers.creditedTo(deposit)
      if (validatorIndex === undefined) return
      this.#parts.balances.record({ slot, validatorIndex, kind: 'deposit', reference, gwei: deposit.amountGwei })
    })
  }

  /** What a switch to compounding credentials queues: all above the activation balance (queue_excess_active_balance). */
  #switchToCompounding(slot: number, request: ConsolidationRequest, reference: number): void {
    const { before, after, queues, balances } = this.#parts
    if (queues === undefined || Buffer.compare(request.sourcePubkey, request.targetPubkey) !== 0) return
    const validatorIndex = after.indexOf(request.sourcePubkey)
    if (validatorIndex === undefined || validatorIndex >= before.validators || this.#switched.has(validatorIndex))
      return
    // Who has compounding credentials afterwards has switched, by the first request that could: what forbids one does not end in an epoch.
    if (after.credentialPrefixes[validatorIndex] !== COMPOUNDING_PREFIX) return
    const hadAddress =
      before.credentialPrefixes[validatorIndex] === EXECUTION_PREFIX || this.#changed.has(validatorIndex)
    const address = after.credentialsOf(validatorIndex).subarray(ADDRESS_AT)
    if (!hadAddress || Buffer.compare(address, request.sourceAddress) !== 0) return
    this.#switched.add(validatorIndex)
    const excess = (balances.gwei[validatorIndex] as number) - queues.activationBalanceMinGwei
    if (excess > 0) balances.record({ slot, validatorIndex, kind: 'moved_to_queue', reference, gwei: -excess })
  }

  /** Seat after seat: the proposer may sit in its own committee, and an empty balance loses nothing (process_sync_aggregate). */
  #syncAggregate({ slot, proposerIndex, syncBits }: BlockOperations): void {
    const { after, balances } = this.#parts
    let proposerGwei = 0
    after.syncSeats.forEach((validator, seat) => {
      const hasSigned = (((syncBits[seat >> 3] as number) >> (seat & 7)) & 1) === 1
      balances.recordSeat(slot, validator, hasSigned ? this.#seatReward : -this.#seatReward)
      if (hasSigned) proposerGwei += balances.apply(proposerIndex, this.#seatProposerReward)
    })
    const sum = { kind: 'proposer_sync', reference: 0, gwei: proposerGwei } as const
    balances.recordApplied({ slot, validatorIndex: proposerIndex, ...sum })
  }
}

function addBits(bits: Uint8Array, others: Uint8Array): void {
  for (let byte = 0; byte < bits.length; byte++) bits[byte] = (bits[byte] as number) | (others[byte] as number)
}
