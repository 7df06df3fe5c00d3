import type { Effect, ProposerKind } from '../../schemas/eth/transition/effects.ts'
import { isProposerKind } from '../../schemas/eth/transition/effects.ts'
import type { ExplainedEpoch, ReplayedCut } from '../../schemas/eth/transition/explain-epoch.ts'
import { type StateColumns, UNSET_EPOCH } from '../../schemas/eth/transition/state-columns.ts'
import type { BalanceEffect, BalanceEffectKind } from '../../schemas/events/balance-effects.ts'
import { VALIDATOR_STATUSES, type ValidatorStatus } from '../../schemas/events/beacon-epoch.ts'
import { giveBack, lendZeros } from '../../schemas/memory.ts'
import type { ComputedProposal, ExplainedRows, ValidatorSet } from '../ports/beacon-source.ts'
import { networkSums } from './network-sums.ts'

/** What an explained epoch says of some validators, in the columns of the port; `slots` are those of its blocks. */
export function toExplainedRows(
  explained: ExplainedEpoch,
  {
    after,
    set,
    slots,
  }: { readonly after: StateColumns; readonly set: ValidatorSet; readonly slots: readonly number[] },
): Omit<ExplainedRows, 'proof' | 'differences'> {
  const indices = knownOf(set, after.validators)
  const isAsked = lendZeros(Uint8Array, after.validators)
  for (let row = 0; row < indices.length; row++) isAsked[indices[row] as number] = 1
  const gwei = (column: Float64Array) => new BigInt64Array(wordsOf(indices, column).buffer)
  const residuals = [...explained.residuals].filter(([index]) => isAsked[index] === 1)
  const rows = {
    states: statesOf(after, explained.epoch, indices),
    credentialTypes: picked(new Uint8Array(indices.length), indices, after.credentialPrefixes),
    attestations: {
      validatorIndex: indices,
      sourceGwei: gwei(explained.sourceGwei),
      targetGwei: gwei(explained.targetGwei),
      headGwei: gwei(explained.headGwei),
      inactivityGwei: gwei(explained.inactivityGwei),
    },
    sync: syncRows(explained, isAsked),
    proposals: proposalsOf(explained.effects, slots),
    effects: explained.effects.flatMap((effect) => (isAsked[effect.validatorIndex] === 1 ? flowOf(effect) : [])),
    proposers: explained.proposers && [...explained.proposers],
    network: networkSums(explained, after),
    residuals: residuals.map(([validatorIndex, residual]) => ({ validatorIndex, gwei: String(residual) })),
    cuts: explained.cuts.map((cut) => cutOf(cut, set)),
  }
  giveBack([isAsked])
  return rows
}

/** Those of the set that the registry has, as a copy: the asker keeps the set. */
function knownOf(set: ValidatorSet, validators: number): Uint32Array<ArrayBuffer> {
  const known = new Uint32Array(set.length)
  let count = 0
  for (let place = 0; place < set.length; place++) {
    const index = set[place] as number
    if (index < validators) known[count++] = index
  }
  return count === known.length ? known : known.slice(0, count)
}

function cutOf({ slot, gwei }: ReplayedCut, set: ValidatorSet) {
  const validatorIndex = knownOf(set, gwei.length)
  return { slot, balances: { validatorIndex, balanceGwei: new BigInt64Array(wordsOf(validatorIndex, gwei).buffer) } }
}

function statesOf(after: StateColumns, epoch: number, indices: Uint32Array) {
  const epochs = (column: Uint32Array) => {
    const words = wordsOf(indices, column)
    // FAR_FUTURE_EPOCH has all bits set.
    for (let word = 0; word < words.length; word += 2) if (words[word] === UNSET_EPOCH) words[word + 1] = UNSET_EPOCH
    return new BigUint64Array(words.buffer)
  }
  const statuses = new Uint8Array(indices.length)
  for (let row = 0; row < indices.length; row++)
    statuses[row] = STATUS_CODES[statusOf(after, epoch, indices[row] as number)]
  return {
    validatorIndex: indices,
    balanceGwei: new BigInt64Array(wordsOf(indices, after.balancesGwei).buffer),
    effectiveBalanceEth: picked(new Uint32Array(indices.length), indices, after.effectiveIncrements),
    status: statuses,
    slashed: picked(new Uint8Array(indices.length), indices, after.slashed),
    activationEligibilityEpoch: epochs(after.eligibilityEpochs),
    activationEpoch: epochs(after.activationEpochs),
    exitEpoch: epochs(after.exitEpochs),
    withdrawableEpoch: epochs(after.withdrawableEpochs),
  }
}

function picked<Out extends Uint8Array | Uint32Array>(out: Out, indices: Uint32Array, column: ArrayLike<number>): Out {
  for (let row = 0; row < indices.length; row++) out[row] = column[indices[row] as number] as number
  return out
}

const STATUS_CODES = Object.fromEntries(VALIDATOR_STATUSES.map((status, code) => [status, code])) as Readonly<
  Record<ValidatorStatus, number>
>

const WORD = 2 ** 32

/**
 * Integers of 64 bits in two words each, the lower one first as on the platforms we run on: a bigint for each of a million validators and
 * columns would take most of an epoch's time.
 */
function wordsOf(indices: Uint32Array, column: Float64Array | Uint32Array): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(2 * indices.length)
  for (let row = 0; row < indices.length; row++) {
    const value = column[indices[row] as number] as number
    // What is stored is the number modulo 2^32, of a negative one too.
    words[2 * row] = value
    words[2 * row + 1] = Math.floor(value / WORD)
  }
  return words
}

/** The status that the Beacon API gives a validator in an epoch. */
function statusOf(state: StateColumns, epoch: number, index: number): ValidatorStatus {
  const isSlashed = state.slashed[index] !== 0
  if (epoch < (state.activationEpochs[index] as number))
    return state.eligibilityEpochs[index] === UNSET_EPOCH ? 'pending_initialized' : 'pending_queued'
  const exit = state.exitEpochs[index] as number
  if (exit === UNSET_EPOCH) return 'active_ongoing'
  if (epoch < exit) return isSlashed ? 'active_slashed' : 'active_exiting'
  const withdrawable = state.withdrawableEpochs[index] as number
  if (epoch < withdrawable) return isSlashed ? 'exited_slashed' : 'exited_unslashed'
  return state.effectiveIncrements[index] === 0 ? 'withdrawal_done' : 'withdrawal_possible'
}

/** Seats of one validator in one block become one row; blocks stay in their order, validators in that of their first seats. */
function syncRows({ seats }: ExplainedEpoch, isAsked: Uint8Array): ExplainedRows['sync'] {
  const slots: number[] = []
  const validators: number[] = []
  const gwei: bigint[] = []
  const rowOf = new Map<number, number>()
  let slot = -1
  for (let seat = 0; seat < seats.slots.length; seat++) {
    const validator = seats.validators[seat] as number
    if (isAsked[validator] !== 1) continue
    if (seats.slots[seat] !== slot) rowOf.clear()
    slot = seats.slots[seat] as number
    const row = rowOf.get(validator)
    const amount = BigInt(seats.gwei[seat] as number)
    if (row !== undefined) gwei[row] = (gwei[row] as bigint) + amount
    else {
      rowOf.set(validator, gwei.length)
      slots.push(slot)
      validators.push(validator)
      gwei.push(amount)
    }
  }
  return {
    slot: Uint32Array.from(slots),
    validatorIndex: Uint32Array.from(validators),
    syncGwei: BigInt64Array.from(gwei),
  }
}

const PART_OF: Readonly<Record<ProposerKind, Exclude<keyof ComputedProposal, 'slot'>>> = {
  proposer_attestations: 'attestationsGwei',
  proposer_sync: 'syncAggregateGwei',
  proposer_proposer_slashings: 'proposerSlashingsGwei',
  proposer_attester_slashings: 'attesterSlashingsGwei',
}

function proposalsOf(effects: readonly Effect[], slots: readonly number[]): readonly ComputedProposal[] {
  const parts = new Map(
    slots.map((slot) => [
      slot,
      { slot, attestationsGwei: 0n, syncAggregateGwei: 0n, proposerSlashingsGwei: 0n, attesterSlashingsGwei: 0n },
    ]),
  )
  for (const { slot, kind, gwei } of effects) {
    const proposal = parts.get(slot)
    if (proposal !== undefined && isProposerKind(kind)) proposal[PART_OF[kind]] += BigInt(gwei)
  }
  return [...parts.values()]
}

/** Proposals are told with their blocks. */
function flowOf({ slot, validatorIndex, kind, reference, gwei }: Effect): readonly BalanceEffect[] {
  if (isProposerKind(kind)) return []
  const flow: BalanceEffectKind = kind
  return [{ slot, validatorIndex, kind: flow, reference, amountGwei: String(gwei) }]
}
