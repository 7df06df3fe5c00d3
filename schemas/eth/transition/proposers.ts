import { computeProposerIndex } from '@chainsafe/swap-or-not-shuffle'
import { sha256 } from '../signing-root.ts'
import { activeIndices, DOMAIN_BEACON_PROPOSER, seedOf } from './committees.ts'
import { type ChainRules, INCREMENT_GWEI, INCREMENTS_MAX, isFrom } from './fork-rules.ts'
import type { StateColumns } from './state-columns.ts'

/** MAX_EFFECTIVE_BALANCE in increments: what a candidate's chance was in proportion to before Electra. */
const INCREMENTS_MAX_BEFORE_ELECTRA = 32
/** Random bytes that a candidate's effective balance is compared with, before Electra and since then (EIP-7251). */
const RANDOM_BYTES = { before: 1, since: 2 } as const
const SLOT_BYTES = 8

/**
 * Who is to propose in each slot of a state's epoch, in the order of slots. Since Fulu the state says it (EIP-7917): it was drawn an epoch
 * before. Before, it follows from the epoch's seed and from effective balances, which nothing in an epoch changes (consensus-specs,
 * get_beacon_proposer_index). Undefined for a state of Fulu that was kept without its lookahead.
 */
export function proposersOf(state: StateColumns, rules: ChainRules): Uint32Array | undefined {
  const { slotsPerEpoch } = rules
  if (isFrom(state.fork, 'fulu')) return state.proposerLookahead?.subarray(0, slotsPerEpoch)
  const epoch = Math.floor(state.slot / slotsPerEpoch)
  const epochSeed = seedOf(state, rules, { epoch, domain: DOMAIN_BEACON_PROPOSER })
  const active = activeIndices(state, epoch)
  const isElectra = isFrom(state.fork, 'electra')
  return Uint32Array.from({ length: slotsPerEpoch }, (_, offset) => {
    const slot = new Uint8Array(SLOT_BYTES)
    new DataView(slot.buffer).setBigUint64(0, BigInt(epoch * slotsPerEpoch + offset), true)
    return computeProposerIndex(
      sha256(epochSeed, slot),
      active,
      state.effectiveIncrements,
      isElectra ? RANDOM_BYTES.since : RANDOM_BYTES.before,
      (isElectra ? INCREMENTS_MAX : INCREMENTS_MAX_BEFORE_ELECTRA) * INCREMENT_GWEI,
      INCREMENT_GWEI,
      rules.shuffleRounds,
    )
  })
}
