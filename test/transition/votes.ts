import { BitArray } from '@chainsafe/ssz'
import {
  FAR_FUTURE_EPOCH,
  ForkSeq,
  MAX_ATTESTATIONS,
  MAX_ATTESTATIONS_ELECTRA,
  MAX_COMMITTEES_PER_SLOT,
  SLOTS_PER_EPOCH,
  SLOTS_PER_HISTORICAL_ROOT,
} from '@lodestar/params'
import type { CachedBeaconStateAllForks } from '@lodestar/state-transition'
import type { electra, phase0 } from '@lodestar/types'
import type { Dice } from './dice.ts'

const SIGNATURE = new Uint8Array(96)
const WRONG_ROOT = new Uint8Array(32).fill(0xee)
/** Later than this a source vote is not timely (the root of an epoch's slots). */
const SOURCE_DELAY_MAX = Math.floor(Math.sqrt(SLOTS_PER_EPOCH))
const VARIANTS = ['right', 'wrong head', 'wrong target'] as const
type Variant = (typeof VARIANTS)[number]

/** Equal votes of one committee. */
interface VoteGroup {
  readonly slot: number
  readonly committeeIndex: number
  readonly variant: Variant
  readonly data: phase0.AttestationData
  readonly committee: Uint32Array
  /** First slot whose block can contain the vote, by place in the committee; 0 where there is none. */
  readonly dueSlots: number[]
  /** By place: a block contained it. */
  readonly included: boolean[]
}

export interface IncludedAttestation {
  readonly attestation: phase0.Attestation | electra.Attestation
  readonly variant: Variant
  readonly delaySlots: number
  readonly attesters: readonly number[]
}

function variantOf(dice: Dice): Variant {
  if (dice.chance(0.9)) return 'right'
  return dice.pick(['wrong head', 'wrong target'] as const)
}

function delaySlots(dice: Dice): number {
  if (dice.chance(0.82)) return 1
  return dice.chance(0.7) ? dice.whole(2, SOURCE_DELAY_MAX + 2) : dice.whole(2, 2 * SLOTS_PER_EPOCH)
}

/** Votes on their way into blocks, those of slashed validators as well. */
export class Votes {
  readonly #dice: Dice
  #groups: VoteGroup[] = []

  constructor(dice: Dice) {
    this.#dice = dice
  }

  /** Casts the votes of the slot before the state's, which must not contain a block of its own slot yet. */
  cast(state: CachedBeaconStateAllForks, participation: number): void {
    const dice = this.#dice
    const slot = state.slot - 1
    const epoch = Math.floor(slot / SLOTS_PER_EPOCH)
    const blockRoot = (at: number) => state.blockRoots.get(at % SLOTS_PER_HISTORICAL_ROOT)
    const isCurrent = epoch === state.epochCtx.epoch
    const source = (isCurrent ? state.currentJustifiedCheckpoint : state.previousJustifiedCheckpoint).toValue()
    for (let index = 0; index < state.epochCtx.getCommitteeCountPerSlot(epoch); index++) {
      const committee = Uint32Array.from(state.epochCtx.getBeaconCommittee(slot, index))
      const groups = VARIANTS.map((variant) => ({
        slot,
        committeeIndex: index,
        variant,
        data: {
          slot,
          index,
          beaconBlockRoot: variant === 'right' ? blockRoot(slot) : WRONG_ROOT,
          source,
          target: { epoch, root: variant === 'wrong target' ? WRONG_ROOT : blockRoot(epoch * SLOTS_PER_EPOCH) },
        },
        committee,
        dueSlots: new Array<number>(committee.length).fill(0),
        included: new Array<boolean>(committee.length).fill(false),
      }))
      for (let place = 0; place < committee.length; place++) {
        if (!dice.chance(participation)) continue
        // Now and then a validator votes twice: the second vote may bring flags that the first did not.
        for (let vote = dice.chance(0.04) ? 2 : 1; vote > 0; vote--) {
          const group = groups[VARIANTS.indexOf(variantOf(dice))] as VoteGroup
          group.dueSlots[place] = slot + delaySlots(dice)
        }
      }
      this.#groups.push(...groups.filter((group) => group.dueSlots.some((due) => due > 0)))
    }
  }

  /** What the block of the state's slot contains. */
  take(state: CachedBeaconStateAllForks): IncludedAttestation[] {
    const fork = state.config.getForkSeq(state.slot)
    const { epoch } = state.epochCtx
    // Since Deneb until the end of the next epoch (EIP-7045).
    this.#groups = this.#groups.filter(
      ({ slot, data, dueSlots, included }) =>
        data.target.epoch >= epoch - 1 &&
        (fork >= ForkSeq.deneb || slot + SLOTS_PER_EPOCH >= state.slot) &&
        dueSlots.some((due, place) => due > 0 && included[place] !== true),
    )
    const due = this.#groups.flatMap((group) => this.#toBits(group, state))
    return fork >= ForkSeq.electra
      ? toElectraAttestations(due, state.slot).slice(0, MAX_ATTESTATIONS_ELECTRA)
      : due.slice(0, MAX_ATTESTATIONS).map((votes) => toAttestation(votes, state.slot))
  }

  /** Which places an attestation of the block has: the due ones, at times with those that another block contained. */
  #toBits(group: VoteGroup, state: CachedBeaconStateAllForks): DueVotes[] {
    const withIncluded = this.#dice.chance(0.25)
    const isLate = state.slot - group.slot > SOURCE_DELAY_MAX
    const bits = group.dueSlots.map((due, place) => {
      if (due === 0 || due > state.slot || (group.included[place] && !withIncluded)) return false
      if (!isLate) return true
      // Already swept for its last epoch, it has nothing that the missed source could be taken from; the reference sums reward
      // and penalty before it looks at that, the specification takes one after the other. No network has so short a delay.
      const { exitEpoch, withdrawableEpoch } = state.validators.getReadonly(group.committee[place] as number)
      return exitEpoch === FAR_FUTURE_EPOCH || withdrawableEpoch !== exitEpoch
    })
    const isNew = bits.some((bit, place) => bit && group.included[place] !== true)
    if (!isNew) return []
    for (const [place, bit] of bits.entries()) if (bit) group.included[place] = true
    return [{ group, bits }]
  }
}

interface DueVotes {
  readonly group: VoteGroup
  readonly bits: readonly boolean[]
}

function attestersOf({ group, bits }: DueVotes): number[] {
  return [...group.committee].filter((_, place) => bits[place] === true)
}

function toAttestation(votes: DueVotes, slot: number): IncludedAttestation {
  const { group, bits } = votes
  return {
    variant: group.variant,
    delaySlots: slot - group.slot,
    attesters: attestersOf(votes),
    attestation: { aggregationBits: BitArray.fromBoolArray([...bits]), data: group.data, signature: SIGNATURE },
  }
}

/** EIP-7549: the committees of a slot that vote alike are in one attestation, whose data no longer tell the committee. */
function toElectraAttestations(due: readonly DueVotes[], slot: number): IncludedAttestation[] {
  const bySlot = Map.groupBy(due, ({ group }) => `${group.slot} ${group.variant}`)
  return [...bySlot.values()].reverse().map((votes) => {
    const { group } = votes[0] as DueVotes
    const committees = votes.map((each) => each.group.committeeIndex)
    return {
      variant: group.variant,
      delaySlots: slot - group.slot,
      attesters: votes.flatMap(attestersOf),
      attestation: {
        aggregationBits: BitArray.fromBoolArray(votes.flatMap(({ bits }) => [...bits])),
        data: { ...group.data, index: 0 },
        signature: SIGNATURE,
        committeeBits: BitArray.fromBoolArray(
          Array.from({ length: MAX_COMMITTEES_PER_SLOT }, (_, index) => committees.includes(index)),
        ),
      },
    }
  })
}
