import { MAX_PENDING_DEPOSITS_PER_EPOCH } from '@lodestar/params'
import { INCREMENT_GWEI, INCREMENTS_MAX, parseTransitionFork } from '../../schemas/eth/transition/fork-rules.ts'
import {
  type PendingConsolidation,
  type PendingPartial,
  type PendingStateDeposit,
  type StateCheckpoints,
  type StateColumns,
  type StateQueues,
  UNSET_EPOCH,
} from '../../schemas/eth/transition/state-columns.ts'
import { lend } from '../../schemas/memory.ts'
import { nameOf, PubkeyFinder } from './pubkey-finder.ts'
import { malformed, SerializedState } from './serialized-state.ts'
import { VALIDATOR_BYTES } from './state-layout.ts'
import { ValidatorKeys } from './validator-keys.ts'

// A serialized state is scanned where it lies: columns of numbers are made of the registry and the lists, and nothing else of it is read.
// Lengths of records: consensus-specs, phase0 Validator, electra PendingDeposit, PendingPartialWithdrawal, PendingConsolidation.

const PUBKEY_BYTES = 48
const ROOT_BYTES = 32
const SIGNATURE_BYTES = 96
const UINT64_BYTES = 8

const VALIDATOR = {
  bytes: VALIDATOR_BYTES,
  withdrawalCredentials: 48,
  effectiveBalance: 80,
  slashed: 88,
  eligibilityEpoch: 89,
  activationEpoch: 97,
  exitEpoch: 105,
  withdrawableEpoch: 113,
} as const
const PENDING_DEPOSIT = { bytes: 192, withdrawalCredentials: 48, amount: 80, signature: 88, slot: 184 } as const
const PENDING_PARTIAL_BYTES = 24
const PENDING_CONSOLIDATION_BYTES = 16

const WORD = 2 ** 32
/** Above it a double is not exact. */
const GWEI_MAX = Number.MAX_SAFE_INTEGER
const FAR_FUTURE_WORD = 0xffff_ffff

export interface StateBytes {
  readonly fork: string
  readonly bytes: Uint8Array
  /** The registry's, where they are not among the others. */
  readonly registry?: Uint8Array
  /** Public keys (48 bytes) whose validators are asked for, beside those of the sync committee and of the queue's first deposits. */
  readonly pubkeys: readonly Uint8Array[]
}

export interface ScannedState extends StateColumns {
  /** Whose validators were looked for. */
  readonly keys: ValidatorKeys
}

/**
 * The columns of a serialized state of the preset of this process. They keep nothing of its bytes, which may be written over. Throws
 * AppError `node_malformed` where the bytes are no state of the fork, `usage` for a fork that is not known here.
 */
export function scanState({ fork: forkName, bytes, registry: apart, pubkeys }: StateBytes): ScannedState {
  const fork = parseTransitionFork(forkName)
  const state = new SerializedState(fork, plain(bytes), apart === undefined ? apart : plain(apart))
  const registry = state.list('validators', VALIDATOR.bytes)
  const validators = registry.length / VALIDATOR.bytes
  const perValidator = (name: string, width: number) => {
    const list = state.list(name, width)
    if (list.length === validators * width) return list
    throw malformed(`${name} has ${list.length / width} entries for ${validators} validators`)
  }
  const queues = state.has('pendingDeposits') ? queuesOf(state) : undefined
  const seats = seatKeys(state)
  const wanted = [...pubkeys, ...seats, ...(queues?.deposits ?? []).map(({ pubkey }) => pubkey)]
  const keys = keysIn(registry, wanted)
  return {
    slot: state.number('slot'),
    fork,
    validators,
    ...registryColumns(registry, validators),
    balancesGwei: integers(perValidator('balances', UINT64_BYTES), 'a balance'),
    previousParticipation: copyOf(perValidator('previousEpochParticipation', 1)),
    currentParticipation: copyOf(perValidator('currentEpochParticipation', 1)),
    inactivityScores: integers(perValidator('inactivityScores', UINT64_BYTES), 'an inactivity score'),
    slashingsGwei: sumOf(state.vector('slashings')),
    checkpoints: checkpointsOf(state),
    blockRoots: state.vector('blockRoots').slice(),
    randaoMixes: copyOf(state.vector('randaoMixes')),
    proposerLookahead: state.has('proposerLookahead')
      ? Uint32Array.from(integers(state.vector('proposerLookahead'), 'an index of its proposers'))
      : undefined,
    syncSeats: Uint32Array.from(seats, (key) => {
      const index = keys.indexOf(key)
      if (index === undefined) throw malformed('a member of its sync committee is not in its registry')
      return index
    }),
    queues,
    keys,
    indexOf: (pubkey) => keys.indexOf(pubkey),
    credentialsOf: (index) => keys.credentialsOf(index),
  }
}

function copyOf(bytes: Uint8Array): Uint8Array {
  const copy = lend(Uint8Array, bytes.length)
  copy.set(bytes)
  return copy
}

/** The same bytes, of which `slice` is a copy, as a Buffer's is not. */
function plain({ buffer, byteOffset, length }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length)
}

function keysIn(registry: Uint8Array, wanted: readonly Uint8Array[]): ValidatorKeys {
  const indices = new PubkeyFinder(wanted).find(registry, VALIDATOR.bytes)
  return new ValidatorKeys(
    wanted.map((pubkey) => {
      const index = indices.get(nameOf(pubkey))
      if (index === undefined) return { pubkey: pubkey.slice(), validator: undefined }
      const at = index * VALIDATOR.bytes + VALIDATOR.withdrawalCredentials
      return { pubkey: pubkey.slice(), validator: { index, credentials: registry.slice(at, at + ROOT_BYTES) } }
    }),
  )
}

function registryColumns(registry: Uint8Array, validators: number) {
  const view = new DataView(registry.buffer, registry.byteOffset, registry.byteLength)
  const effectiveIncrements = lend(Uint16Array, validators)
  const slashed = lend(Uint8Array, validators)
  const eligibilityEpochs = lend(Uint32Array, validators)
  const activationEpochs = lend(Uint32Array, validators)
  const exitEpochs = lend(Uint32Array, validators)
  const withdrawableEpochs = lend(Uint32Array, validators)
  const credentialPrefixes = lend(Uint8Array, validators)
  for (let index = 0, at = 0; index < validators; index++, at += VALIDATOR.bytes) {
    credentialPrefixes[index] = registry[at + VALIDATOR.withdrawalCredentials] as number
    slashed[index] = registry[at + VALIDATOR.slashed] as number
    effectiveIncrements[index] = incrementsAt(view, at + VALIDATOR.effectiveBalance)
    eligibilityEpochs[index] = epochAt(view, at + VALIDATOR.eligibilityEpoch)
    activationEpochs[index] = epochAt(view, at + VALIDATOR.activationEpoch)
    exitEpochs[index] = epochAt(view, at + VALIDATOR.exitEpoch)
    withdrawableEpochs[index] = epochAt(view, at + VALIDATOR.withdrawableEpoch)
  }
  return {
    effectiveIncrements,
    slashed,
    eligibilityEpochs,
    activationEpochs,
    exitEpochs,
    withdrawableEpochs,
    credentialPrefixes,
  }
}

function incrementsAt(view: DataView, at: number): number {
  const increments = integerAt(view, at, 'an effective balance') / INCREMENT_GWEI
  if (Number.isInteger(increments) && increments <= INCREMENTS_MAX) return increments
  throw malformed(`an effective balance of it is not of 0 to ${INCREMENTS_MAX} increments`)
}

function epochAt(view: DataView, at: number): number {
  const low = view.getUint32(at, true)
  const high = view.getUint32(at + 4, true)
  if (high === 0 && low !== UNSET_EPOCH) return low
  if (high === FAR_FUTURE_WORD && low === FAR_FUTURE_WORD) return UNSET_EPOCH
  throw malformed('an epoch of its registry is beyond 2^32 and not FAR_FUTURE_EPOCH')
}

function integers(list: Uint8Array, what: string): Float64Array {
  const view = new DataView(list.buffer, list.byteOffset, list.byteLength)
  const values = lend(Float64Array, list.length / UINT64_BYTES)
  for (let i = 0; i < values.length; i++) values[i] = integerAt(view, i * UINT64_BYTES, what)
  return values
}

function integerAt(view: DataView, at: number, what: string): number {
  const value = view.getUint32(at + 4, true) * WORD + view.getUint32(at, true)
  if (value > GWEI_MAX) throw malformed(`${what} of it is above ${GWEI_MAX}`)
  return value
}

function sumOf(vector: Uint8Array): bigint {
  const view = new DataView(vector.buffer, vector.byteOffset, vector.byteLength)
  let sum = 0n
  for (let at = 0; at < vector.length; at += UINT64_BYTES) sum += view.getBigUint64(at, true)
  return sum
}

function checkpointsOf(state: SerializedState): StateCheckpoints {
  const epochOf = (name: string) => {
    const checkpoint = state.vector(name)
    return integerAt(new DataView(checkpoint.buffer, checkpoint.byteOffset, checkpoint.byteLength), 0, name)
  }
  return {
    justificationBits: state.vector('justificationBits')[0] as number,
    previousJustifiedEpoch: epochOf('previousJustifiedCheckpoint'),
    currentJustifiedEpoch: epochOf('currentJustifiedCheckpoint'),
    finalizedEpoch: epochOf('finalizedCheckpoint'),
  }
}

/** Public keys of the current sync committee, by seat; behind them stands their sum. */
function seatKeys(state: SerializedState): readonly Uint8Array[] {
  const committee = state.vector('currentSyncCommittee')
  const seats = committee.length / PUBKEY_BYTES - 1
  return Array.from({ length: seats }, (_, seat) => committee.subarray(seat * PUBKEY_BYTES, (seat + 1) * PUBKEY_BYTES))
}

function queuesOf(state: SerializedState): StateQueues {
  return {
    deposits: depositsOf(state.list('pendingDeposits', PENDING_DEPOSIT.bytes)),
    partials: rowsOf(state.list('pendingPartialWithdrawals', PENDING_PARTIAL_BYTES), 3).map(
      ([validatorIndex, amountGwei, withdrawableEpoch]): PendingPartial => ({
        validatorIndex: validatorIndex as number,
        amountGwei: amountGwei as number,
        withdrawableEpoch: withdrawableEpoch as number,
      }),
    ),
    consolidations: rowsOf(state.list('pendingConsolidations', PENDING_CONSOLIDATION_BYTES), 2).map(
      ([sourceIndex, targetIndex]): PendingConsolidation => ({
        sourceIndex: sourceIndex as number,
        targetIndex: targetIndex as number,
      }),
    ),
    depositBalanceToConsumeGwei: state.bigint('depositBalanceToConsume'),
    eth1DepositIndex: state.bigint('eth1DepositIndex'),
    depositRequestsStartIndex: state.bigint('depositRequestsStartIndex'),
  }
}

/** Copies of the queue's first entries: nobody needs more of it than a transition may handle. */
function depositsOf(list: Uint8Array): readonly PendingStateDeposit[] {
  const count = Math.min(list.length / PENDING_DEPOSIT.bytes, MAX_PENDING_DEPOSITS_PER_EPOCH)
  return Array.from({ length: count }, (_, place) => {
    const record = list.slice(place * PENDING_DEPOSIT.bytes, (place + 1) * PENDING_DEPOSIT.bytes)
    const view = new DataView(record.buffer)
    const { withdrawalCredentials, amount, signature, slot } = PENDING_DEPOSIT
    return {
      pubkey: record.subarray(0, PUBKEY_BYTES),
      withdrawalCredentials: record.subarray(withdrawalCredentials, withdrawalCredentials + ROOT_BYTES),
      amountGwei: integerAt(view, amount, 'a pending deposit'),
      signature: record.subarray(signature, signature + SIGNATURE_BYTES),
      slot: integerAt(view, slot, 'the slot of a pending deposit'),
    }
  })
}

/** Rows of so many uint64; a number above 2^53 is no index, amount or epoch. */
function rowsOf(list: Uint8Array, numbers: number): readonly (readonly number[])[] {
  const values = integers(list, 'a number of its queues')
  return Array.from({ length: values.length / numbers }, (_, row) =>
    Array.from(values.subarray(row * numbers, (row + 1) * numbers)),
  )
}
