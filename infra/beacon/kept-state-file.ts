import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { SLOTS_PER_EPOCH } from '@lodestar/params'
import { fromPlanes, toPlanes } from '../../schemas/byte-planes.ts'
import { bytesOfView } from '../../schemas/bytes-of-view.ts'
import { refuseGivenBack, type StateColumns } from '../../schemas/eth/transition/state-columns.ts'
import { type ColumnCtor, giveBack, lend } from '../../schemas/memory.ts'
import type { ReadState } from './state-reader.ts'
import { type LookedFor, ValidatorKeys } from './validator-keys.ts'

// A state's columns as one file: mark, SHA-256 of all behind it, length of the header (u32, little-endian), the header as Node serializes
// values, then the columns, each as a zstd frame of its bytes' planes: the higher ones of balances and epochs are all but constant.

const MARK = Buffer.from('EPLSTAT2')
const SUM_BYTES = 32
const HEADER_AT = MARK.length + SUM_BYTES + 4
const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
const PACKING = { params: { [constants.ZSTD_c_compressionLevel]: 1 } } as const

const ROOT_BYTES = 32
/** Committees of an epoch and of the one before it are drawn by mixes of three epochs back at most. */
const MIXES_KEPT = 8

const COLUMNS = {
  balancesGwei: Float64Array,
  effectiveIncrements: Uint16Array,
  slashed: Uint8Array,
  eligibilityEpochs: Uint32Array,
  activationEpochs: Uint32Array,
  exitEpochs: Uint32Array,
  withdrawableEpochs: Uint32Array,
  credentialPrefixes: Uint8Array,
  previousParticipation: Uint8Array,
  currentParticipation: Uint8Array,
  inactivityScores: Uint32Array,
  blockRoots: Uint8Array,
  randaoMixes: Uint8Array,
  stateRoots: Uint8Array,
} as const
type ColumnName = keyof typeof COLUMNS
type Columns = Pick<StateColumns & ReadState, ColumnName>
const COLUMN_NAMES = Object.keys(COLUMNS) as readonly ColumnName[]

/** What of a state is no column. */
interface Header extends Omit<ReadState, 'columns' | 'stateRoots'> {
  readonly rest: Omit<StateColumns, ColumnName | 'indexOf' | 'credentialsOf'>
  readonly keys: readonly LookedFor[]
  /** Bytes of each column as it is stored, in the order of COLUMNS. */
  readonly storedBytes: readonly number[]
}

/** The file of a state, in pieces. */
export async function encodeKeptState(state: ReadState): Promise<readonly Uint8Array[]> {
  const { columns, stateRoots, slot, blockRoot, stateRoot, isAnchored, anchor } = state
  refuseGivenBack(columns)
  const randaoMixes = lastMixes(columns.randaoMixes, Math.floor(slot / SLOTS_PER_EPOCH))
  const values = { ...columns, randaoMixes, stateRoots }
  const stored: Uint8Array[] = []
  // One after the other: the planes of all would be as much memory again as the columns.
  for (const name of COLUMN_NAMES) {
    const planes = planesOf(values[name])
    stored.push(await compress(planes, PACKING))
    if (planes.buffer !== values[name].buffer) giveBack([planes])
  }
  const { fork, validators, slashingsGwei, checkpoints, proposerLookahead, syncSeats, queues, keys } = columns
  const header: Header = {
    ...{ slot, blockRoot, stateRoot, isAnchored, anchor },
    rest: { slot, fork, validators, slashingsGwei, checkpoints, proposerLookahead, syncSeats, queues },
    keys: keys.all,
    storedBytes: stored.map(({ length }) => length),
  }
  const packed = serialize(header)
  const packedBytes = Buffer.alloc(4)
  packedBytes.writeUInt32LE(packed.length)
  const body = [packedBytes, packed, ...stored]
  return [MARK, sumOf(body), ...body]
}

/** Throws an Error that says what is wrong with the file. */
export async function decodeKeptState(file: Buffer): Promise<ReadState> {
  if (Buffer.compare(file.subarray(0, MARK.length), MARK) !== 0) throw new Error('it does not begin as such a file')
  const [sum, body] = [file.subarray(MARK.length, HEADER_AT - 4), file.subarray(HEADER_AT - 4)]
  if (Buffer.compare(sum, sumOf([body])) !== 0) throw new Error('its bytes do not have the sum that it names')
  let at = HEADER_AT + file.readUInt32LE(HEADER_AT - 4)
  // A copy: what it is read from stays in memory with its values.
  const {
    rest,
    keys: lookedFor,
    storedBytes,
    ...place
  } = deserialize(Buffer.from(file.subarray(HEADER_AT, at))) as Header
  const found: Partial<Record<ColumnName, Columns[ColumnName]>> = {}
  for (const [nth, name] of COLUMN_NAMES.entries()) {
    const end = at + (storedBytes[nth] as number)
    const type = COLUMNS[name]
    const planes = await decompress(file.subarray(at, end))
    found[name] = valuesOf(planes, type as ColumnCtor<Columns[ColumnName]>)
    giveBack([planes])
    at = end
  }
  const { stateRoots, ...columns } = found as Columns
  const keys = new ValidatorKeys(lookedFor)
  const byKey = { keys, indexOf: keys.indexOf.bind(keys), credentialsOf: keys.credentialsOf.bind(keys) }
  return { ...place, stateRoots, columns: { ...rest, ...columns, ...byKey } }
}

/** The mixes of the last epochs in their places, and zeros elsewhere: all 65,536 would take 2 MB of each file. */
function lastMixes(mixes: Uint8Array, epoch: number): Uint8Array {
  const kept = new Uint8Array(mixes.length)
  for (let back = 0; back < MIXES_KEPT; back++) {
    // Before the genesis lie the mixes that a vector of one length has at its end.
    const at = ((epoch - back) * ROOT_BYTES + mixes.length) % mixes.length
    kept.set(mixes.subarray(at, at + ROOT_BYTES), at)
  }
  return kept
}

function planesOf(values: Columns[ColumnName]): Uint8Array {
  const { BYTES_PER_ELEMENT: width } = values
  return toPlanes(bytesOfView(values), width, width === 1 ? NO_BYTES : lend(Uint8Array, values.byteLength))
}

function valuesOf<Values extends Columns[ColumnName]>(planes: Uint8Array, type: ColumnCtor<Values>): Values {
  const values = lend(type, planes.length / type.BYTES_PER_ELEMENT)
  fromPlanes(planes, type.BYTES_PER_ELEMENT, bytesOfView(values))
  return values
}

const NO_BYTES = new Uint8Array(0)

function sumOf(pieces: readonly Uint8Array[]): Buffer {
  const sum = createHash('sha256')
  for (const piece of pieces) sum.update(piece)
  return sum.digest()
}
