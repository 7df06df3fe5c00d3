import { BitArray } from '@chainsafe/ssz'
import { MAX_ATTESTATIONS_ELECTRA, MAX_COMMITTEES_PER_SLOT, SLOTS_PER_EPOCH } from '@lodestar/params'
import type { CachedBeaconStateFulu } from '@lodestar/state-transition'
import type { electra, phase0 } from '@lodestar/types'
import type { Duties, Vote } from './duties.ts'

/** The equal votes of one slot's attesters that become known at the same time. */
interface VoteGroup {
  readonly key: string
  readonly data: phase0.AttestationData
  /** First slot whose block can contain them. */
  readonly dueSlot: number
  /** Per committee of the slot, per position: has voted so. */
  readonly committees: readonly boolean[][]
}

/** Votes that no block contains yet. A value: a fork of the chain goes on with the pool that it had. */
export type VotePool = readonly VoteGroup[]

export const emptyVotePool: VotePool = []

export interface Casting {
  /** The state after the slot was processed, with or without a block. */
  readonly state: CachedBeaconStateFulu
  readonly slot: number
  /** Latest block at or before the slot, and the latest before the slot: what a late block's voters saw. */
  readonly headRoot: Uint8Array
  readonly previousHeadRoot: Uint8Array
  /** Root of the latest block at or before the first slot of the epoch, as the voters of `headRoot` see it. */
  readonly targetRoot: Uint8Array
  readonly duties: Duties
}

function attestationData(casting: Casting, head: 'seen' | 'previous'): phase0.AttestationData {
  const { state, slot } = casting
  const headRoot = head === 'seen' ? casting.headRoot : casting.previousHeadRoot
  // In the first slot of an epoch the head is the target, so who misses the block is wrong in both.
  const targetRoot = slot % SLOTS_PER_EPOCH === 0 ? headRoot : casting.targetRoot
  return {
    slot,
    index: 0, // EIP-7549: the committee is told by the committee bits
    beaconBlockRoot: headRoot,
    source: state.currentJustifiedCheckpoint.toValue(),
    target: { epoch: Math.floor(slot / SLOTS_PER_EPOCH), root: targetRoot },
  }
}

/** The pool with the votes of one slot's committees added. Slashed validators do not vote any more. */
export function castVotes(pool: VotePool, casting: Casting): VotePool {
  const { state, slot, duties } = casting
  const count = state.epochCtx.getCommitteeCountPerSlot(Math.floor(slot / SLOTS_PER_EPOCH))
  const committees = Array.from({ length: count }, (_, index) => state.epochCtx.getBeaconCommittee(slot, index))
  const attesters = committees.flatMap((committee) => Array.from(committee))
  const votes = duties.votes(slot, attesters)
  const groups = new Map<string, VoteGroup>()
  let position = 0
  for (const [committeeIndex, committee] of committees.entries()) {
    for (const [place, validator] of committee.entries()) {
      const vote = votes[position++] as Vote
      if (vote.kind === 'none' || state.validators.getReadonly(validator).slashed) continue
      const key = `${slot}:${vote.head}`
      const groupKey = `${key}:${vote.delaySlots}`
      let group = groups.get(groupKey)
      if (group === undefined) {
        const empty = committees.map((members) => new Array<boolean>(members.length).fill(false))
        group = { key, data: attestationData(casting, vote.head), dueSlot: slot + vote.delaySlots, committees: empty }
        groups.set(groupKey, group)
      }
      ;(group.committees[committeeIndex] as boolean[])[place] = true
    }
  }
  return [...pool, ...groups.values()]
}

/** EIP-7549: one bit per member of the committees that the committee bits name; a committee without votes is not named. */
function toAttestation(groups: readonly VoteGroup[], signature: Uint8Array): electra.Attestation {
  const first = groups[0] as VoteGroup
  const merged = first.committees.map((members, committee) =>
    members.map((_, place) => groups.some((group) => group.committees[committee]?.[place] === true)),
  )
  const named = merged.map((members) => members.includes(true))
  return {
    aggregationBits: BitArray.fromBoolArray(merged.filter((_, committee) => named[committee]).flat()),
    data: first.data,
    signature,
    committeeBits: BitArray.fromBoolArray(Array.from({ length: MAX_COMMITTEES_PER_SLOT }, (_, i) => named[i] === true)),
  }
}

/** The attestations that a block of the slot contains, newest first, and the pool without them and without expired votes. */
export function takeAttestations(
  pool: VotePool,
  slot: number,
  signatureFor: (label: string) => Uint8Array,
): { readonly attestations: electra.Attestation[]; readonly pool: VotePool } {
  const epoch = Math.floor(slot / SLOTS_PER_EPOCH)
  const alive = pool.filter((group) => group.data.target.epoch >= epoch - 1)
  const byKey = Map.groupBy(
    alive.filter((group) => group.dueSlot <= slot),
    (group) => group.key,
  )
  const chosen = [...byKey.values()]
    .sort((a, b) => (b[0] as VoteGroup).data.slot - (a[0] as VoteGroup).data.slot)
    .slice(0, MAX_ATTESTATIONS_ELECTRA)
  const taken = new Set(chosen.flat())
  return {
    attestations: chosen.map((groups) => toAttestation(groups, signatureFor((groups[0] as VoteGroup).key))),
    pool: alive.filter((group) => !taken.has(group)),
  }
}
