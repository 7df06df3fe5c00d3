import { createHash } from 'node:crypto'
import { BitArray } from '@chainsafe/ssz'
import { unshuffleList } from '@chainsafe/swap-or-not-shuffle'
import { ssz } from '@lodestar/types'
import { noise } from '../noise.ts'
import { SLOTS_PER_EPOCH } from '../synthetic-registry.ts'

// Who votes how, and the attestations that blocks carry of it.

const SHUFFLE_ROUNDS = 90
const COMMITTEE_SIZE = 128
const COMMITTEES_PER_SLOT_MAX = 64
const MIN_SEED_LOOKAHEAD = 1
const MIXES = 65_536
const ROOT_BYTES = 32

/** How a validator votes in an epoch, and which share of all does. Late votes come so many slots behind theirs. */
const KINDS = [
  { kind: 'missed', share: 0.02 },
  { kind: 'old head', share: 0.03 },
  { kind: 'wrong target', share: 0.002 },
  { kind: 'late', share: 0.015 },
  { kind: 'very late', share: 0.004 },
] as const
export type VoteKind = Exclude<(typeof KINDS)[number]['kind'], 'missed'> | 'timely'
const VOTES: readonly VoteKind[] = ['timely', 'old head', 'wrong target', 'late', 'very late']

export function voteOf(index: number, epoch: number): VoteKind | 'missed' {
  let luck = noise(index, epoch)
  for (const { kind, share } of KINDS) {
    if (luck < share) return kind
    luck -= share
  }
  return 'timely'
}

/** Who votes together in one way. */
export interface Ballot {
  /** A bit per seat of the committees that are named. */
  readonly bits: BitArray
  readonly committeeBits: BitArray
  readonly voters: Uint32Array
}

/** The committees of one epoch (consensus-specs, get_beacon_committee), and how their members vote. */
export class EpochVotes {
  readonly #epoch: number
  readonly #perSlot: number
  readonly #shuffled: Uint32Array
  readonly #ballots = new Map<string, Ballot | undefined>()

  constructor(active: Uint32Array, mixes: Uint8Array, epoch: number) {
    this.#epoch = epoch
    const perSlot = Math.floor(Math.floor(active.length / SLOTS_PER_EPOCH) / COMMITTEE_SIZE)
    this.#perSlot = Math.max(1, Math.min(COMMITTEES_PER_SLOT_MAX, perSlot))
    this.#shuffled = unshuffleList(active, seedOf(mixes, epoch), SHUFFLE_ROUNDS)
  }

  membersOf(slot: number): Uint32Array {
    return this.#slice(slot, 0, this.#perSlot)
  }

  #slice(slot: number, from: number, to: number): Uint32Array {
    const [members, count] = [this.#shuffled, this.#perSlot * SLOTS_PER_EPOCH]
    const place = (slot % SLOTS_PER_EPOCH) * this.#perSlot
    const at = (committee: number) => Math.floor((members.length * (place + committee)) / count)
    return members.subarray(at(from), at(to))
  }

  /** Undefined where nobody votes so. A committee without such a voter is not named: the chain refuses it. */
  ballot(slot: number, kind: VoteKind): Ballot | undefined {
    const key = `${slot} ${kind}`
    if (!this.#ballots.has(key)) this.#count(slot)
    return this.#ballots.get(key)
  }

  #count(slot: number): void {
    const committees = Array.from({ length: this.#perSlot }, (_, committee) => {
      return this.#slice(slot, committee, committee + 1)
    })
    const votes = committees.map((members) => Array.from(members, (index) => voteOf(index, this.#epoch)))
    for (const kind of VOTES) {
      const bits: boolean[] = []
      const voters: number[] = []
      const named = committees.map((members, committee) => {
        const found = votes[committee] as string[]
        if (!found.includes(kind)) return false
        found.forEach((vote, seat) => {
          bits.push(vote === kind)
          if (vote === kind) voters.push(members[seat] as number)
        })
        return true
      })
      const isNamed = Array.from({ length: COMMITTEES_PER_SLOT_MAX }, (_, committee) => named[committee] === true)
      const ballot = {
        bits: BitArray.fromBoolArray(bits),
        committeeBits: BitArray.fromBoolArray(isNamed),
        voters: Uint32Array.from(voters),
      }
      this.#ballots.set(`${slot} ${kind}`, voters.length === 0 ? undefined : ballot)
    }
  }
}

/** `get_seed` of attesters. */
function seedOf(mixes: Uint8Array, epoch: number): Uint8Array {
  const epochBytes = Buffer.alloc(8)
  epochBytes.writeBigUInt64LE(BigInt(epoch))
  const at = ((epoch + MIXES - MIN_SEED_LOOKAHEAD - 1) % MIXES) * ROOT_BYTES
  const domain = Buffer.from([1, 0, 0, 0])
  return createHash('sha256')
    .update(domain)
    .update(epochBytes)
    .update(mixes.subarray(at, at + ROOT_BYTES))
    .digest()
}

/** What a block says of a slot's voters of one kind. */
export interface IncludedVote {
  readonly slot: number
  readonly kind: VoteKind
}

const LATE_SLOTS = 3
const VERY_LATE_SLOTS = 6
/** MAX_ATTESTATIONS_ELECTRA */
const ATTESTATIONS_MAX = 8

/** What the block of a slot includes behind the last block, as many as fit: what is new, and then what others have included. */
export function includedIn(slot: number, last: number): readonly IncludedVote[] {
  const fresh = Array.from({ length: slot - last }, (_, i) => slot - 1 - i).flatMap((voted): IncludedVote[] => [
    { slot: voted, kind: 'timely' },
    { slot: voted, kind: 'old head' },
    { slot: voted, kind: 'wrong target' },
  ])
  const late: readonly IncludedVote[] = [
    { slot: slot - LATE_SLOTS, kind: 'late' },
    { slot: slot - VERY_LATE_SLOTS, kind: 'very late' },
  ]
  const again = [2, 3, 4].map((back): IncludedVote => ({ slot: slot - back, kind: 'timely' }))
  return [...fresh, ...late, ...again].slice(0, ATTESTATIONS_MAX)
}

interface VoteData {
  readonly slot: number
  readonly beaconBlockRoot: Uint8Array
  readonly source: { readonly epoch: number; readonly root: Uint8Array }
  readonly target: { readonly epoch: number; readonly root: Uint8Array }
}

export function attestationOf({ bits, committeeBits }: Ballot, data: VoteData) {
  const attestation = ssz.electra.Attestation.defaultValue()
  return { ...attestation, aggregationBits: bits, committeeBits, data: { ...data, index: 0 } }
}
