import type { Effect, ProposerKind } from '../../schemas/eth/transition/effects.ts'
import { isProposerKind } from '../../schemas/eth/transition/effects.ts'
import type { ExplainedEpoch, ReplayedCut } from '../../schemas/eth/transition/explain-epoch.ts'
import { type StateColumns, UNSET_EPOCH } from '../../schemas/eth/transition/state-columns.ts'
import type { BalanceEffect, BalanceEffectKind } from '../../schemas/events/balance-effects.ts'
import { VALIDATOR_STATUSES, type ValidatorStatus } from '../../schemas/events/beacon-epoch.ts'
import { giveBack, lend, lendZeros } from '../../schemas/memory.ts'
import type { ComputedProposal, ExplainedRows, ValidatorSet } from '../ports/beacon-source.ts'
import { networkSums } from './network-sums.ts'

/**
 * What an explained epoch says of some validators, in the columns of the port; `slots` are those of its blocks. The columns of what it brought each
 * validator are given back, and the rows lie in memory that was lent: they take the place of what they are made of.
 */
export function toExplainedRows(
  explained: ExplainedEpoch,
  {
    after,
    set,
    slots,
  }: { readonly after: StateColumns; readonly set: ValidatorSet; readonly slots: readonly number[] },
): Omit<ExplainedRows, 'proof' | 'differences'> {
  const network = networkSums(explained)
  const indices = knownOf(set, after.validators)
  const isAsked = lendZeros(Uint8Array, after.validators)
  for (let row = 0; row < indices.length; row++) isAsked[indices[row] as number] = 1
  const residuals = [...explained.residuals].filter(([index]) => isAsked[index] === 1)
  const rows = {
    attestations: attestationsOf(explained, indices),
    states: statesOf(after, explained.epoch, indices),
    credentialTypes: picked(new Uint8Array(indices.length), indices, after.credentialPrefixes),
    sync: syncRows(explained, isAsked),
    proposals: proposalsOf(explained.effects, slots),
    effects: explained.effects.flatMap((effect) => (isAsked[effect.validatorIndex] === 1 ? flowOf(effect) : [])),
    proposers: explained.proposers && [...explained.proposers],
    network,
    residuals: residuals.map(([validatorIndex, residual]) => ({ validatorIndex, gwei: String(residual) })),
    cuts: explained.cuts.map((cut) => cutOf(cut, set)),
  }
  giveBack([isAsked])
  return rows
}

function attestationsOf(explained: ExplainedEpoch, indices: Uint32Array): ExplainedRows['attestations'] {
  const ofFlag = (column: Int32Array) => {
    const gwei = int64s(wordsOfInts(indices, column))
    giveBack([column])
    return gwei
  }
  const rows = {
    validatorIndex: indices,
    sourceGwei: ofFlag(explained.sourceGwei),
    targetGwei: ofFlag(explained.targetGwei),
    headGwei: ofFlag(explained.headGwei),
    inactivityGwei: int64s(wordsOf(indices, explained.inactivityGwei)),
  }
  giveBack([explained.inactivityGwei])
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
  return { slot, balances: { validatorIndex, balanceGwei: int64s(wordsOf(validatorIndex, gwei)) } }
}

function statesOf(after: StateColumns, epoch: number, indices: Uint32Array) {
  const epochs = (column: Uint32Array) => {
    const words = wordsOfEpochs(indices, column)
    return new BigUint64Array(words.buffer, 0, indices.length)
  }
  const statuses = new Uint8Array(indices.length)
  for (let row = 0; row < indices.length; row++)
    statuses[row] = STATUS_CODES[statusOf(after, epoch, indices[row] as number)]
  return {
    validatorIndex: indices,
    balanceGwei: int64s(wordsOf(indices, after.balancesGwei)),
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

// Integers of 64 bits in two words each, the lower one first as on the platforms we run on: a bigint for each of a million validators and
// columns would take most of an epoch's time, and so would a loop that meets arrays of several kinds.

function int64s(words: Uint32Array<ArrayBuffer>): BigInt64Array {
  return new BigInt64Array(words.buffer, 0, words.length / 2)
}

function wordsOf(indices: Uint32Array, column: Float64Array): Uint32Array<ArrayBuffer> {
  const words = lend<Uint32Array<ArrayBuffer>>(Uint32Array, 2 * indices.length)
  for (let row = 0; row < indices.length; row++) {
    const value = column[indices[row] as number] as number
    // What is stored is the number modulo 2^32, of a negative one too.
    words[2 * row] = value
    words[2 * row + 1] = Math.floor(value / WORD)
  }
  return words
}

function wordsOfInts(indices: Uint32Array, column: Int32Array): Uint32Array<ArrayBuffer> {
  const words = lend<Uint32Array<ArrayBuffer>>(Uint32Array, 2 * indices.length)
  for (let row = 0; row < indices.length; row++) {
    const value = column[indices[row] as number] as number
    words[2 * row] = value
    words[2 * row + 1] = value >> 31
  }
  return words
}

/** FAR_FUTURE_EPOCH has all bits set. */
function wordsOfEpochs(indices: Uint32Array, column: Uint32Array): Uint32Array<ArrayBuffer> {
  const words = lend<Uint32Array<ArrayBuffer>>(Uint32Array, 2 * indices.length)
  for (let row = 0; row < indices.length; row++) {
    const epoch = column[indices[row] as number] as number
    words[2 * row] = epoch
    words[2 * row + 1] = epoch === UNSET_EPOCH ? UNSET_EPOCH : 0
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
