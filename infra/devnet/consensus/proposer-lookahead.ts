import { hash } from 'node:crypto'
import { unshuffleList } from '@chainsafe/swap-or-not-shuffle'
import {
  DOMAIN_BEACON_PROPOSER,
  EFFECTIVE_BALANCE_INCREMENT,
  MAX_EFFECTIVE_BALANCE_ELECTRA,
  MIN_SEED_LOOKAHEAD,
  SHUFFLE_ROUND_COUNT,
  SLOTS_PER_EPOCH,
} from '@lodestar/params'
import {
  type CachedBeaconStateFulu,
  computeEpochShuffling,
  type EpochTransitionCache,
  getSeed,
} from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'

const INCREMENTS_MAX = MAX_EFFECTIVE_BALANCE_ELECTRA / EFFECTIVE_BALANCE_INCREMENT
const RANDOM_MAX = 2 ** 16 - 1
const RANDOM_BYTES = 2
const DRAWS_PER_HASH = 16

function sha256(seed: Uint8Array, number: number): Buffer {
  const bytes = Buffer.alloc(seed.length + 8)
  bytes.set(seed)
  bytes.writeBigUInt64LE(BigInt(number), seed.length)
  return hash('sha256', bytes, 'buffer')
}

/**
 * compute_proposer_index (consensus-specs electra) over the whole shuffled list. With 32 ETH of at most 2,048 about 64 candidates are
 * drawn, and shuffling all of a small registry at once costs less than shuffling three of its indices one by one.
 */
function proposerOf(indices: Uint32Array, increments: ArrayLike<number>, seed: Uint8Array): number {
  const candidates = unshuffleList(indices, seed, SHUFFLE_ROUND_COUNT)
  for (let block = 0; ; block++) {
    const random = sha256(seed, block)
    for (let draw = 0; draw < DRAWS_PER_HASH; draw++) {
      const candidate = candidates[(block * DRAWS_PER_HASH + draw) % candidates.length] as number
      const limit = INCREMENTS_MAX * random.readUInt16LE(draw * RANDOM_BYTES)
      if ((increments[candidate] as number) * RANDOM_MAX >= limit) return candidate
    }
  }
}

/** process_proposer_lookahead (consensus-specs fulu), as the library has it but for the way to a proposer. */
export function processProposerLookahead(state: CachedBeaconStateFulu, cache: EpochTransitionCache): void {
  const epoch = state.epochCtx.epoch + MIN_SEED_LOOKAHEAD + 1
  const shuffling = computeEpochShuffling(state, cache.nextShufflingActiveIndices, epoch)
  cache.nextShuffling = shuffling
  const epochSeed = getSeed(state, epoch, DOMAIN_BEACON_PROPOSER)
  const { effectiveBalanceIncrements } = state.epochCtx
  const added = Array.from({ length: SLOTS_PER_EPOCH }, (_, i) =>
    proposerOf(shuffling.activeIndices, effectiveBalanceIncrements, sha256(epochSeed, epoch * SLOTS_PER_EPOCH + i)),
  )
  const known = state.proposerLookahead.getAll().slice(SLOTS_PER_EPOCH)
  state.proposerLookahead = ssz.fulu.ProposerLookahead.toViewDU([...known, ...added])
}
