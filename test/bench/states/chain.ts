import { createHash } from 'node:crypto'
import { BitArray } from '@chainsafe/ssz'
import { ssz } from '@lodestar/types'
import { StateRoots } from '../../../infra/beacon/state-root.ts'
import { noise } from '../noise.ts'
import { SLOTS_PER_EPOCH } from '../synthetic-registry.ts'
import { closeBlock, headerOf, type MadeBlock, type OpenBlock, openBlock } from './blocks.ts'
import { emptyFields, piecesOf, uint64, uint64s } from './fields.ts'
import {
  ADDRESS_PREFIX,
  COMPOUNDING_PREFIX,
  GWEI_PER_INCREMENT,
  type MadeRegistry,
  makeRegistry,
  refuseNewEffectiveBalances,
} from './registry.ts'
import {
  type Amounts,
  amountsOf,
  HEAD,
  payAttestations,
  payCorrelation,
  proposerPart,
  SOURCE,
  TARGET,
  weightOf,
} from './rules.ts'
import { FIRST_EPOCH, pubkeyBytes, type StateChainSize } from './size.ts'
import { attestationOf, EpochVotes, type IncludedVote, includedIn, voteOf } from './votes.ts'

const ROOT_BYTES = 32
const ROOTS = 8_192
const MIXES = 65_536
const SEATS = 512
/** Seats that sign. */
const SIGNING = 0.97
/** One slot in so many is empty, never an epoch's first or last. */
const EMPTY_SLOTS = 50
const WITHDRAWALS_MAX = 16
const SWEEP_MAX = 16_384
const DEPOSITS_PER_EPOCH = 16
const DEPOSIT_GWEI = GWEI_PER_INCREMENT
const SOURCE_SLOTS_MAX = 5
/** Share of validators with a score left of an earlier leak, and its limit. */
const SCORED = 0.005
const SCORE_MAX = 100
const SLASHINGS_GWEI = 1_000 * GWEI_PER_INCREMENT
/** Where what was slashed stands: no transition of ours clears it. */
const SLASHINGS_AT = ROOTS / 2

/** A state after an epoch's last slot, in pieces, and the root that its last block names. */
export interface MadeState {
  readonly slot: number
  readonly pieces: readonly Uint8Array[]
}

export interface MadeEpoch {
  readonly state: MadeState
  readonly blocks: readonly MadeBlock[]
}

const sha256 = (...parts: readonly Uint8Array[]): Uint8Array => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return new Uint8Array(hash.digest())
}

/** Bytes that nobody looks into. */
const filler = (label: string, slot: number): Uint8Array => sha256(Buffer.from(`${label} ${slot}`))

/**
 * A chain of Fulu: a state after each epoch, and the blocks between, by the rules of the specification as far as balances, participation,
 * checkpoints, seeds and roots go. Not by the rules: whom the states let propose, signatures, payload hashes, and state roots of blocks that end no epoch.
 */
export class StateChain {
  readonly registry: MadeRegistry
  readonly balancesGwei: Float64Array
  readonly #amounts: Amounts
  readonly #transactions: readonly Uint8Array[]
  readonly #fields: Map<string, Uint8Array>
  readonly #scores: Float64Array
  readonly #blockRoots = new Uint8Array(ROOTS * ROOT_BYTES)
  readonly #stateRoots = new Uint8Array(ROOTS * ROOT_BYTES)
  readonly #mixes = new Uint8Array(MIXES * ROOT_BYTES)
  readonly #seats: Uint32Array
  readonly #roots = new StateRoots({ lent: true })
  #buffers: readonly [Buffer, Buffer] | undefined
  #previous: Uint8Array
  #current: Uint8Array
  #votes = new Map<number, EpochVotes>()
  #lastRoot: Uint8Array = new Uint8Array(ROOT_BYTES)
  #lastSlot = 0
  #lastStateRoot: Uint8Array = new Uint8Array(ROOT_BYTES)
  #nextWithdrawal = 1_000_000
  #sweptTo = 0
  #eth1Votes = 0

  constructor(size: StateChainSize, transactions: readonly Uint8Array[]) {
    this.registry = makeRegistry(size)
    this.balancesGwei = this.registry.balancesGwei
    this.#amounts = amountsOf(this.registry)
    this.#transactions = transactions
    this.#fields = emptyFields()
    const { validators, active } = this.registry
    this.#scores = new Float64Array(validators)
    this.#previous = new Uint8Array(validators)
    this.#current = new Uint8Array(validators)
    for (const index of active)
      if (noise(index, 4) < SCORED) this.#scores[index] = 1 + Math.floor(noise(index, 5) * SCORE_MAX)
    for (let word = 0; word < this.#mixes.length; word++) this.#mixes[word] = noise(word, 6) * 256
    for (let word = 0; word < this.#blockRoots.length; word++) this.#blockRoots[word] = noise(word, 7) * 256
    this.#seats = Uint32Array.from(
      { length: SEATS },
      (_, seat) => active[Math.floor((seat * active.length) / SEATS)] as number,
    )
    this.#setFixed(size)
  }

  #setFixed({ epochs }: StateChainSize): void {
    const { bytes, active, prefixes, increments } = this.registry
    const committee = ssz.altair.SyncCommittee.defaultValue()
    committee.pubkeys = Array.from(this.#seats, pubkeyBytes)
    const slashings = new Uint8Array(ROOTS * 8)
    new DataView(slashings.buffer).setBigUint64(SLASHINGS_AT * 8, BigInt(SLASHINGS_GWEI), true)
    const toppedUp = active.filter((index) => prefixes[index] === ADDRESS_PREFIX && increments[index] === 32)
    const deposits = Array.from({ length: DEPOSITS_PER_EPOCH * (epochs + 2) }, (_, place) => ({
      ...ssz.electra.PendingDeposit.defaultValue(),
      pubkey: pubkeyBytes(toppedUp[(place * 7) % toppedUp.length] as number),
      amount: DEPOSIT_GWEI,
      signature: new Uint8Array(96).fill(1),
      slot: 1,
    }))
    this.#set({
      validators: bytes,
      inactivityScores: uint64s(this.#scores),
      slashings,
      currentSyncCommittee: ssz.altair.SyncCommittee.serialize(committee),
      nextSyncCommittee: ssz.altair.SyncCommittee.serialize(committee),
      pendingDeposits: ssz.electra.PendingDeposits.serialize(deposits),
      justificationBits: Uint8Array.of(0b1111),
    })
  }

  #set(fields: Readonly<Record<string, Uint8Array>>): void {
    for (const [name, bytes] of Object.entries(fields)) this.#fields.set(name, bytes)
  }

  /** The state before the first epoch, behind the one block of it that is known. */
  begin(): MadeEpoch {
    const epoch = FIRST_EPOCH - 1
    const slot = FIRST_EPOCH * SLOTS_PER_EPOCH - 1
    const votes = this.#votesOf(epoch)
    const set = (participation: Uint8Array, of: number) => {
      for (const index of this.registry.active)
        participation[index] = {
          missed: 0,
          'wrong target': SOURCE,
          'very late': TARGET,
          timely: 7,
          'old head': 3,
          late: 3,
        }[voteOf(index, of)]
    }
    set(this.#previous, epoch - 1)
    set(this.#current, epoch)
    // Whoever votes in the last slot is in no block yet.
    for (const index of votes.membersOf(slot)) this.#current[index] = 0
    const { state, block } = this.#close(this.#propose(slot, []), epoch)
    return { state, blocks: [block] }
  }

  /** The next epoch; `onSlot` may look at the balances after each slot. */
  advance(epoch: number, onSlot: (slot: number) => void): MadeEpoch {
    this.#transition(epoch - 1)
    const blocks: MadeBlock[] = []
    let open: OpenBlock | undefined
    const first = epoch * SLOTS_PER_EPOCH
    for (let offset = 0; offset < SLOTS_PER_EPOCH; offset++) {
      const slot = first + offset
      this.#enter(slot)
      const isEdge = offset === 0 || offset === SLOTS_PER_EPOCH - 1
      if (!isEdge && slot % EMPTY_SLOTS === 0) {
        onSlot(slot)
        continue
      }
      open = this.#propose(slot, includedIn(slot, this.#lastSlot))
      onSlot(slot)
      if (offset < SLOTS_PER_EPOCH - 1) {
        const block = this.#closed(open, filler('state', slot))
        blocks.push(block)
      }
    }
    if (open === undefined) throw new Error('the last slot of an epoch has a block')
    refuseNewEffectiveBalances(this.registry, this.balancesGwei)
    const { state, block } = this.#close(open, epoch)
    return { state, blocks: [...blocks, block] }
  }

  /** The block that a checkpoint names: the first behind the last epoch. Nobody asks what it does. */
  checkpointBlock(epoch: number): MadeBlock {
    const slot = epoch * SLOTS_PER_EPOCH
    const none = { attestations: [], withdrawals: [], transactions: [], syncBits: BitArray.fromBitLen(SEATS) }
    const open = openBlock({
      slot,
      proposerIndex: 0,
      parentRoot: this.#lastRoot,
      randaoReveal: new Uint8Array(96),
      ...none,
    })
    return closeBlock(open, filler('state', slot))
  }

  /** process_slot of the slot before. */
  #enter(slot: number): void {
    const at = ((slot - 1) % ROOTS) * ROOT_BYTES
    this.#stateRoots.set(this.#lastStateRoot, at)
    this.#blockRoots.set(this.#lastRoot, at)
    this.#lastStateRoot = filler('state', slot)
  }

  /** process_epoch out of an epoch. */
  #transition(epoch: number): void {
    const { registry, balancesGwei } = this
    payAttestations(registry, this.#amounts, { balancesGwei, scores: this.#scores, participation: this.#previous })
    payCorrelation(registry, this.#amounts, { epoch, slashingsGwei: BigInt(SLASHINGS_GWEI), balancesGwei })
    this.#deposit()
    if ((epoch + 1) % 64 === 0) this.#eth1Votes = 0
    const mixAt = (of: number) => (of % MIXES) * ROOT_BYTES
    this.#mixes.copyWithin(mixAt(epoch + 1), mixAt(epoch), mixAt(epoch) + ROOT_BYTES)
    this.#previous = this.#current
    this.#current = new Uint8Array(registry.validators)
  }

  /** process_pending_deposits: as many as an epoch may handle, far below the churn. */
  #deposit(): void {
    const { PendingDeposits } = ssz.electra
    const entry = ssz.electra.PendingDeposit.fixedSize as number
    const queue = this.#fields.get('pendingDeposits') as Uint8Array
    for (const { pubkey, amount } of PendingDeposits.deserialize(queue.slice(0, entry * DEPOSITS_PER_EPOCH))) {
      const index = Buffer.from(pubkey).readUInt32BE(pubkey.length - 4)
      this.balancesGwei[index] = (this.balancesGwei[index] as number) + amount
    }
    this.#set({ pendingDeposits: queue.subarray(entry * DEPOSITS_PER_EPOCH) })
  }

  #propose(slot: number, included: readonly IncludedVote[]): OpenBlock {
    const proposerIndex = this.#proposerOf(slot)
    const withdrawals = included.length === 0 ? [] : this.#withdraw()
    const randaoReveal = Buffer.alloc(96, filler('randao', slot))
    const mixAt = (Math.floor(slot / SLOTS_PER_EPOCH) % MIXES) * ROOT_BYTES
    const mixed = sha256(randaoReveal)
    for (let i = 0; i < ROOT_BYTES; i++)
      this.#mixes[mixAt + i] = (this.#mixes[mixAt + i] as number) ^ (mixed[i] as number)
    this.#eth1Votes++
    const attestations = included.flatMap((vote) => this.#attest(slot, proposerIndex, vote))
    const syncBits = BitArray.fromBoolArray(Array.from(this.#seats, (_, seat) => noise(seat, slot) < SIGNING))
    if (included.length > 0) this.#sync(proposerIndex, syncBits)
    const { parentRoot, transactions } = { parentRoot: this.#lastRoot, transactions: this.#transactions }
    return openBlock({
      slot,
      proposerIndex,
      parentRoot,
      attestations,
      syncBits,
      withdrawals,
      transactions,
      randaoReveal,
    })
  }

  #proposerOf(slot: number): number {
    const { active } = this.registry
    return active[Math.floor(noise(slot, 8) * active.length)] as number
  }

  /** get_expected_withdrawals: nobody has asked for one, and whoever may leave has left. */
  #withdraw() {
    const { validators, prefixes, increments } = this.registry
    const made: { index: number; validatorIndex: number; amount: bigint }[] = []
    const bound = Math.min(validators, SWEEP_MAX)
    let last = this.#sweptTo
    for (let step = 0; step < bound && made.length < WITHDRAWALS_MAX; step++) {
      last = (this.#sweptTo + step) % validators
      const max = prefixes[last] === ADDRESS_PREFIX ? 32 : prefixes[last] === COMPOUNDING_PREFIX ? 2_048 : undefined
      if (max === undefined || increments[last] !== max) continue
      const excess = (this.balancesGwei[last] as number) - max * GWEI_PER_INCREMENT
      if (excess <= 0) continue
      this.balancesGwei[last] = max * GWEI_PER_INCREMENT
      made.push({ index: this.#nextWithdrawal++, validatorIndex: last, amount: BigInt(excess) })
    }
    this.#sweptTo = made.length === WITHDRAWALS_MAX ? (last + 1) % validators : (this.#sweptTo + SWEEP_MAX) % validators
    return made
  }

  /** process_attestation */
  #attest(slot: number, proposer: number, { slot: voted, kind }: IncludedVote) {
    const epoch = Math.floor(voted / SLOTS_PER_EPOCH)
    const ballot = this.#votesOf(epoch).ballot(voted, kind)
    if (ballot === undefined) return []
    const isCurrent = epoch === Math.floor(slot / SLOTS_PER_EPOCH)
    const target = kind === 'wrong target' ? filler('nowhere', epoch) : this.#rootAt(epoch * SLOTS_PER_EPOCH)
    const beaconBlockRoot = this.#rootAt(kind === 'old head' ? voted - 1 : voted)
    const isTarget = Buffer.compare(target, this.#rootAt(epoch * SLOTS_PER_EPOCH)) === 0
    const isHead = isTarget && Buffer.compare(beaconBlockRoot, this.#rootAt(voted)) === 0
    const flags =
      (slot - voted <= SOURCE_SLOTS_MAX ? SOURCE : 0) |
      (isTarget ? TARGET : 0) |
      (isHead && slot === voted + 1 ? HEAD : 0)
    const participation = isCurrent ? this.#current : this.#previous
    let weighted = 0
    for (const index of ballot.voters) {
      const had = participation[index] as number
      if ((flags & ~had) === 0) continue
      participation[index] = had | flags
      weighted += (this.registry.increments[index] as number) * weightOf(flags & ~had)
    }
    this.balancesGwei[proposer] = (this.balancesGwei[proposer] as number) + proposerPart(this.#amounts, weighted)
    const justified = epoch - 1
    const source = { epoch: justified, root: this.#rootAt(justified * SLOTS_PER_EPOCH) }
    return [attestationOf(ballot, { slot: voted, beaconBlockRoot, source, target: { epoch, root: target } })]
  }

  #rootAt(slot: number): Uint8Array {
    const at = (slot % ROOTS) * ROOT_BYTES
    return this.#blockRoots.slice(at, at + ROOT_BYTES)
  }

  /** process_sync_aggregate */
  #sync(proposer: number, bits: BitArray): void {
    const { seat, seatProposer } = this.#amounts
    const add = (index: number, gwei: number) => {
      this.balancesGwei[index] = (this.balancesGwei[index] as number) + gwei
    }
    this.#seats.forEach((index, place) => {
      add(index, bits.get(place) ? seat : -seat)
      if (bits.get(place)) add(proposer, seatProposer)
    })
  }

  #votesOf(epoch: number): EpochVotes {
    const known = this.#votes.get(epoch)
    if (known !== undefined) return known
    const votes = new EpochVotes(this.registry.active, this.#mixes, epoch)
    this.#votes = new Map([...this.#votes].filter(([of]) => of >= epoch - 1))
    this.#votes.set(epoch, votes)
    return votes
  }

  #closed(open: OpenBlock, stateRoot: Uint8Array): MadeBlock {
    const block = closeBlock(open, stateRoot)
    this.#lastRoot = block.root
    this.#lastSlot = block.slot
    return block
  }

  /** The state behind an epoch's last block, whose root that block names. */
  #close(open: OpenBlock, epoch: number): { readonly state: MadeState; readonly block: MadeBlock } {
    const slot = open.message.slot
    const scores = uint64s(this.#scores)
    const isSame = Buffer.compare(scores, this.#fields.get('inactivityScores') as Uint8Array) === 0
    const checkpoint = (of: number) =>
      ssz.phase0.Checkpoint.serialize({ epoch: of, root: this.#rootAt(of * SLOTS_PER_EPOCH) })
    const ahead = Float64Array.from({ length: 2 * SLOTS_PER_EPOCH }, (_, offset) =>
      this.#proposerOf(epoch * SLOTS_PER_EPOCH + offset),
    )
    this.#set({
      slot: uint64(slot),
      latestBlockHeader: ssz.phase0.BeaconBlockHeader.serialize(headerOf(open)),
      blockRoots: this.#blockRoots.slice(),
      stateRoots: this.#stateRoots.slice(),
      eth1DataVotes: new Uint8Array((ssz.phase0.Eth1Data.fixedSize as number) * this.#eth1Votes),
      balances: uint64s(this.balancesGwei),
      randaoMixes: this.#mixes.slice(),
      previousEpochParticipation: this.#previous.slice(),
      currentEpochParticipation: this.#current.slice(),
      proposerLookahead: uint64s(ahead),
      previousJustifiedCheckpoint: checkpoint(epoch - 2),
      currentJustifiedCheckpoint: checkpoint(epoch - 1),
      finalizedCheckpoint: checkpoint(epoch - 2),
      nextWithdrawalIndex: uint64(this.#nextWithdrawal),
      nextWithdrawalValidatorIndex: uint64(this.#sweptTo),
      ...(isSame ? {} : { inactivityScores: scores }),
    })
    const pieces = piecesOf(this.#fields)
    const root = this.#roots.rootOf('fulu', this.#whole(pieces))
    const block = this.#closed(open, root)
    this.#lastStateRoot = root
    return { state: { slot, pieces }, block }
  }

  /** In one of two buffers, one after the other: the roots go by the state before. */
  #whole(pieces: readonly Uint8Array[]): Uint8Array {
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
    const room = bytes + (1 << 20)
    const [next, last] = this.#buffers ?? [Buffer.alloc(room), Buffer.alloc(room)]
    this.#buffers = [last, next]
    let at = 0
    for (const piece of pieces) {
      next.set(piece, at)
      at += piece.length
    }
    return next.subarray(0, bytes)
  }
}
