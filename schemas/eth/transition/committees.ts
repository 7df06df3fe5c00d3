import { asyncUnshuffleList, unshuffleList } from '@chainsafe/swap-or-not-shuffle'
import { giveBack } from '../../memory.ts'
import { sha256 } from '../signing-root.ts'
import type { ChainRules } from './fork-rules.ts'
import { activeSums, activity, type StateColumns } from './state-columns.ts'

/** Domains of `get_seed` (consensus-specs, phase0). */
export const DOMAIN_BEACON_PROPOSER = Uint8Array.of(0x00, 0, 0, 0)
const DOMAIN_BEACON_ATTESTER = Uint8Array.of(0x01, 0, 0, 0)
const MIX_BYTES = 32
const EPOCH_BYTES = 8

/** Beacon committees of one epoch (consensus-specs, get_beacon_committee). */
export class Committees {
  readonly perSlot: number
  /** What they were drawn by, and from how many. */
  readonly seed: Uint8Array
  readonly members: number
  readonly #shuffled: Uint32Array
  readonly #slotsPerEpoch: number

  /**
   * From a state of the epoch or of the one after it: whoever is active in it was so long before. Those that are `known` already are
   * taken where their seed is the same: to shuffle a million takes a quarter of a second.
   */
  static of(state: StateColumns, rules: ChainRules, epoch: number, known: readonly Committees[] = []): Committees {
    const seed = seedOfAttesters(state, rules, epoch)
    const members = activeSums(state, epoch).validators
    const same = known.find((one) => one.members === members && Buffer.compare(one.seed, seed) === 0)
    if (same !== undefined) return same
    const active = activeIndices(state, epoch)
    const shuffled = unshuffleList(active, seed, rules.shuffleRounds)
    giveBack([active])
    return new Committees(shuffled, seed, rules)
  }

  /**
   * Those of the epoch behind a state's, shuffled by a thread of Node's pool: their seed and their members are known by then. The state is not read
   * any more when the call has returned.
   */
  static async behind(state: StateColumns, rules: ChainRules): Promise<Committees> {
    const epoch = Math.floor(state.slot / rules.slotsPerEpoch) + 1
    const seed = seedOfAttesters(state, rules, epoch)
    const active = activeIndices(state, epoch)
    const shuffled = await asyncUnshuffleList(active, seed, rules.shuffleRounds)
    giveBack([active])
    return new Committees(shuffled, seed, rules)
  }

  private constructor(shuffled: Uint32Array, seed: Uint8Array, rules: ChainRules) {
    const { slotsPerEpoch, targetCommitteeSize, committeesPerSlotMax } = rules
    const wanted = Math.floor(Math.floor(shuffled.length / slotsPerEpoch) / targetCommitteeSize)
    this.perSlot = Math.max(1, Math.min(committeesPerSlotMax, wanted))
    this.seed = seed
    this.members = shuffled.length
    this.#slotsPerEpoch = slotsPerEpoch
    this.#shuffled = shuffled
  }

  /** Validators of a committee, by seat. */
  of(slot: number, committeeIndex: number): Uint32Array {
    const count = this.perSlot * this.#slotsPerEpoch
    const place = (slot % this.#slotsPerEpoch) * this.perSlot + committeeIndex
    const from = Math.floor((this.#shuffled.length * place) / count)
    const to = Math.floor((this.#shuffled.length * (place + 1)) / count)
    return this.#shuffled.subarray(from, to)
  }
}

/** `get_active_validator_indices` (consensus-specs, phase0). */
export function activeIndices(state: StateColumns, epoch: number): Uint32Array {
  const { activationEpochs, exitEpochs } = state
  const found = new Uint32Array(activeSums(state, epoch).validators)
  // What is written of one that is not active, the next one is written over.
  for (let index = 0, place = 0; place < found.length; index++) {
    found[place] = index
    place += activity(activationEpochs[index] as number, exitEpochs[index] as number, epoch)
  }
  return found
}

function seedOfAttesters(state: StateColumns, rules: ChainRules, epoch: number): Uint8Array {
  return seedOf(state, rules, { epoch, domain: DOMAIN_BEACON_ATTESTER })
}

/** `get_seed`: the mix is of the epoch before the lookahead, so states of this epoch and the next have it. */
export function seedOf(
  { randaoMixes }: Pick<StateColumns, 'randaoMixes'>,
  rules: ChainRules,
  { epoch, domain }: { readonly epoch: number; readonly domain: Uint8Array },
): Uint8Array {
  const { epochsPerHistoricalVector, minSeedLookahead } = rules
  const at = ((epoch + epochsPerHistoricalVector - minSeedLookahead - 1) % epochsPerHistoricalVector) * MIX_BYTES
  const epochBytes = new Uint8Array(EPOCH_BYTES)
  new DataView(epochBytes.buffer).setBigUint64(0, BigInt(epoch), true)
  return sha256(domain, epochBytes, randaoMixes.subarray(at, at + MIX_BYTES))
}
