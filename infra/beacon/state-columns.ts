import { MAX_PENDING_DEPOSITS_PER_EPOCH } from '@lodestar/params'
import { bytesOfView } from '../../schemas/bytes-of-view.ts'
import { parseTransitionFork } from '../../schemas/eth/transition/fork-rules.ts'
import type {
  PendingConsolidation,
  PendingPartial,
  PendingStateDeposit,
  StateCheckpoints,
  StateColumns,
  StateQueues,
} from '../../schemas/eth/transition/state-columns.ts'
import { lend } from '../../schemas/memory.ts'
import { PUBKEY_BYTES, RegistryScan } from './registry-scan.ts'
import { malformed, REGISTRY, SerializedState } from './serialized-state.ts'
import { VALIDATOR_BYTES } from './state-layout.ts'
import { integerAt } from './uint64s.ts'
import { ValidatorKeys } from './validator-keys.ts'

// A serialized state is scanned where it lies: columns of numbers are made of the registry and the lists, and nothing else of it is read.
// Lengths of records: consensus-specs, phase0 Validator, electra PendingDeposit, PendingPartialWithdrawal, PendingConsolidation.

const ROOT_BYTES = 32
const SIGNATURE_BYTES = 96
const UINT64_BYTES = 8

const PENDING_DEPOSIT = { bytes: 192, withdrawalCredentials: 48, amount: 80, signature: 88, slot: 184 } as const
const PENDING_PARTIAL_BYTES = 24
const PENDING_CONSOLIDATION_BYTES = 16

export interface StateBytes {
  readonly fork: string
  readonly bytes: Uint8Array
  /** Lists by their names that are not among them. */
  readonly apart?: ReadonlyMap<string, Uint8Array>
  /** Public keys (48 bytes) whose validators are asked for, beside those of the sync committee and of the queue's first deposits. */
  readonly pubkeys: readonly Uint8Array[]
  /** Where the registry is written over others: what has read the one before, and what is marked since. */
  readonly earlier?: { readonly scan: RegistryScan; readonly marks: Uint8Array } | undefined
}

export interface ScannedState extends StateColumns {
  /** Whose validators were looked for. */
  readonly keys: ValidatorKeys
}

/**
 * The columns of a serialized state of the preset of this process. They keep nothing of its bytes, which may be written over. Throws
 * AppError `node_malformed` where the bytes are no state of the fork, `usage` for a fork that is not known here.
 */
export function scanState({ fork: forkName, bytes, apart = new Map(), pubkeys, earlier }: StateBytes): ScannedState {
  const fork = parseTransitionFork(forkName)
  const state = new SerializedState(
    fork,
    bytesOfView(bytes),
    new Map([...apart].map(([name, list]) => [name, bytesOfView(list)])),
  )
  const registry = state.list(REGISTRY, VALIDATOR_BYTES)
  const validators = registry.length / VALIDATOR_BYTES
  const perValidator = (name: string, width: number) => {
    const list = state.list(name, width)
    if (list.length === validators * width) return list
    throw malformed(`${name} has ${list.length / width} entries for ${validators} validators`)
  }
  const queues = state.has('pendingDeposits') ? queuesOf(state) : undefined
  const seats = seatKeys(state)
  const wanted = [...pubkeys, ...seats, ...(queues?.deposits ?? []).map(({ pubkey }) => pubkey)]
  const scan = earlier?.scan ?? new RegistryScan()
  const registryColumns = scan.read(registry, earlier?.marks)
  const keys = keysIn(scan, wanted)
  return {
    slot: state.number('slot'),
    fork,
    validators,
    ...registryColumns,
    balancesGwei: integers(perValidator('balances', UINT64_BYTES), 'a balance'),
    previousParticipation: copyOf(perValidator('previousEpochParticipation', 1)),
    currentParticipation: copyOf(perValidator('currentEpochParticipation', 1)),
    inactivityScores: scoresOf(perValidator('inactivityScores', UINT64_BYTES)),
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

function keysIn(scan: RegistryScan, wanted: readonly Uint8Array[]): ValidatorKeys {
  return new ValidatorKeys(
    wanted.map((pubkey) => {
      const index = scan.indexOf(pubkey)
      const validator = index === undefined ? undefined : { index, credentials: scan.credentialsOf(index) }
      return { pubkey: bytesOfView(pubkey).slice(), validator }
    }),
  )
}

function integers(list: Uint8Array, what: string): Float64Array {
  const view = new DataView(list.buffer, list.byteOffset, list.byteLength)
  const values = lend(Float64Array, list.length / UINT64_BYTES)
  for (let i = 0; i < values.length; i++) values[i] = integerAt(view, i * UINT64_BYTES, what)
  return values
}

/** An epoch raises a score by 4: none comes near 32 bits. */
function scoresOf(list: Uint8Array): Uint32Array {
  const view = new DataView(list.buffer, list.byteOffset, list.byteLength)
  const scores = lend(Uint32Array, list.length / UINT64_BYTES)
  for (let i = 0, at = 0; i < scores.length; i++, at += UINT64_BYTES) {
    scores[i] = view.getUint32(at, true)
    if (view.getUint32(at + 4, true) !== 0) throw malformed('an inactivity score of it is beyond 2^32')
  }
  return scores
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
