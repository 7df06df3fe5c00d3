import { bytesOfView } from '../../schemas/bytes-of-view.ts'
import { scatteredBytes } from '../../schemas/eth/scattered-bytes.ts'
import { INCREMENT_GWEI, INCREMENTS_MAX } from '../../schemas/eth/transition/fork-rules.ts'
import { type StateColumns, UNSET_EPOCH } from '../../schemas/eth/transition/state-columns.ts'
import { lend } from '../../schemas/memory.ts'
import { malformed } from './serialized-state.ts'
import { VALIDATOR_BYTES } from './state-layout.ts'
import { integerAt } from './uint64s.ts'

// A record of the registry (consensus-specs, phase0 Validator) begins with the public key.

export const PUBKEY_BYTES = 48
export const CREDENTIALS_BYTES = 32
const VALIDATOR = {
  withdrawalCredentials: 48,
  effectiveBalance: 80,
  slashed: 88,
  eligibilityEpoch: 89,
  activationEpoch: 97,
  exitEpoch: 105,
  withdrawableEpoch: 113,
} as const
const FAR_FUTURE_WORD = 0xffff_ffff
const SLOTS_MIN = 1 << 10
/** Slots of a new table for each key; with fewer it is made anew. */
const SLOTS_PER_KEY = 1.75
const SLOTS_PER_KEY_MIN = 1.5

export type RegistryColumns = Pick<
  StateColumns,
  | 'effectiveIncrements'
  | 'slashed'
  | 'eligibilityEpochs'
  | 'activationEpochs'
  | 'exitEpochs'
  | 'withdrawableEpochs'
  | 'credentialPrefixes'
>

/**
 * What is read of a registry: columns of numbers, and which validator has a public key. Where registries are written one over the other, what is
 * marked as changed is read again and nothing else, as a pass over 266 MB of mainnet's takes a fifth of a second.
 */
export class RegistryScan {
  #registry: Uint8Array = new Uint8Array(0)
  /** Of the registry that was read last, unless they were given back since. */
  #columns: RegistryColumns | undefined
  /** A validator's index plus one, by what its key is scattered to; open addressing. Those whose key was written over stay. */
  #table = new Uint32Array(SLOTS_MIN)
  #entries = 0
  /** Records that were looked at for the table. */
  #known = 0

  /**
   * The columns of a registry. `marks` has a byte for each record, which is 1 where it may have changed since the last call; without them it has
   * nothing of the one before. Throws AppError `node_malformed` for a number that no registry has.
   */
  read(registry: Uint8Array, marks?: Uint8Array): RegistryColumns {
    const validators = registry.length / VALIDATOR_BYTES
    const columns = {
      effectiveIncrements: lend(Uint16Array, validators),
      slashed: lend(Uint8Array, validators),
      eligibilityEpochs: lend(Uint32Array, validators),
      activationEpochs: lend(Uint32Array, validators),
      exitEpochs: lend(Uint32Array, validators),
      withdrawableEpochs: lend(Uint32Array, validators),
      credentialPrefixes: lend(Uint8Array, validators),
    }
    const before = marks === undefined ? 0 : Math.min(this.#takeBefore(columns), validators)
    for (const index of marked(marks, before)) readRecords(registry, columns, index, index + 1)
    readRecords(registry, columns, before, validators)
    this.#takeKeys(registry, marks)
    this.#registry = bytesOfView(registry)
    this.#columns = columns
    return columns
  }

  /** The validator of a public key in the registry that was read last. */
  indexOf(pubkey: Uint8Array): number | undefined {
    const mask = this.#table.length - 1
    for (let slot = scatteredBytes(pubkey, 0, PUBKEY_BYTES) & mask; this.#table[slot] !== 0; slot = (slot + 1) & mask) {
      const index = (this.#table[slot] as number) - 1
      const at = index * VALIDATOR_BYTES
      if (at < this.#registry.length && Buffer.compare(this.#registry.subarray(at, at + PUBKEY_BYTES), pubkey) === 0)
        return index
    }
    return undefined
  }

  /** 32 bytes, of the registry that was read last. */
  credentialsOf(index: number): Uint8Array {
    const at = index * VALIDATOR_BYTES + VALIDATOR.withdrawalCredentials
    return this.#registry.slice(at, at + CREDENTIALS_BYTES)
  }

  /** Copies the columns of the registry before, as far as the new ones reach; of how many validators it had them. */
  #takeBefore(columns: RegistryColumns): number {
    const before = this.#columns
    if (before === undefined || before.slashed.length === 0) return 0 // they were given back
    for (const name of Object.keys(columns) as (keyof RegistryColumns)[])
      columns[name].set(before[name].subarray(0, columns[name].length))
    return before.slashed.length
  }

  #takeKeys(registry: Uint8Array, marks: Uint8Array | undefined): void {
    const validators = registry.length / VALIDATOR_BYTES
    const before = marks === undefined ? 0 : Math.min(this.#known, validators)
    const changed = [...marked(marks, before)]
    this.#known = validators
    const entriesMax = this.#entries + changed.length + validators - before
    if (before === 0 || SLOTS_PER_KEY_MIN * entriesMax > this.#table.length) this.#takeAllKeys(registry, validators)
    else {
      for (const index of changed) this.#takeKey(registry, index)
      for (let index = before; index < validators; index++) this.#takeKey(registry, index)
    }
  }

  #takeAllKeys(registry: Uint8Array, validators: number): void {
    let slots = SLOTS_MIN
    while (slots < SLOTS_PER_KEY * validators) slots *= 2
    if (slots === this.#table.length) this.#table.fill(0)
    else this.#table = new Uint32Array(slots)
    this.#entries = 0
    for (let index = 0; index < validators; index++) this.#takeKey(registry, index)
  }

  #takeKey(registry: Uint8Array, index: number): void {
    const [table, mask] = [this.#table, this.#table.length - 1]
    let slot = scatteredBytes(registry, index * VALIDATOR_BYTES, PUBKEY_BYTES) & mask
    for (; table[slot] !== 0; slot = (slot + 1) & mask) if (table[slot] === index + 1) return
    table[slot] = index + 1
    this.#entries++
  }
}

/** Numbers of the records before one that are marked. */
function* marked(marks: Uint8Array | undefined, end: number): Generator<number> {
  if (marks === undefined) return
  for (let index = marks.indexOf(1); index !== -1 && index < end; index = marks.indexOf(1, index + 1)) yield index
}

function readRecords(registry: Uint8Array, columns: RegistryColumns, from: number, to: number): void {
  const view = new DataView(registry.buffer, registry.byteOffset, registry.byteLength)
  const { effectiveIncrements, slashed, eligibilityEpochs, activationEpochs } = columns
  const { exitEpochs, withdrawableEpochs, credentialPrefixes } = columns
  for (let index = from, at = from * VALIDATOR_BYTES; index < to; index++, at += VALIDATOR_BYTES) {
    credentialPrefixes[index] = registry[at + VALIDATOR.withdrawalCredentials] as number
    slashed[index] = registry[at + VALIDATOR.slashed] as number
    effectiveIncrements[index] = incrementsAt(view, at + VALIDATOR.effectiveBalance)
    eligibilityEpochs[index] = epochAt(view, at + VALIDATOR.eligibilityEpoch)
    activationEpochs[index] = epochAt(view, at + VALIDATOR.activationEpoch)
    exitEpochs[index] = epochAt(view, at + VALIDATOR.exitEpoch)
    withdrawableEpochs[index] = epochAt(view, at + VALIDATOR.withdrawableEpoch)
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
