import { hasher } from '@chainsafe/persistent-merkle-tree/hasher/hashtree'
import { BasicType, BooleanType, ByteVectorType, ContainerType, type Type } from '@chainsafe/ssz'
import { CHUNK_BYTES, depthOf, hashUp } from './merkle.ts'
import { malformed } from './serialized-state.ts'

/** So many records at once: what they are laid out in stays in the processor's caches. */
const BATCH_RECORDS = 512

type RecordType = ContainerType<Record<string, BasicType<unknown> | ByteVectorType>>

/** Whether a type's values are records: containers of numbers, booleans and byte vectors, and nothing else. */
export function isRecord(type: Type<unknown>): type is RecordType {
  if (!(type instanceof ContainerType)) return false
  const fields = Object.values<Type<unknown>>(type.fields)
  return fields.every((field) => field instanceof BasicType || field instanceof ByteVectorType)
}

/** A field of a record: where it lies, and the room for its chunks in one batch. */
interface RecordField {
  readonly offset: number
  readonly bytes: number
  /** Levels of its own tree; 0 where it is one chunk. */
  readonly depth: number
  readonly chunks: Uint8Array
  readonly isBoolean: boolean
}

/** Roots of records, from their bytes: no object is made of them. */
export class RecordHasher {
  readonly recordBytes: number
  readonly #fields: readonly RecordField[]
  readonly #depth: number
  /** The leaves of a batch's records, one record after the other; what no field covers stays zero. */
  readonly #leaves: Uint8Array
  readonly #parents: Uint8Array

  constructor(type: RecordType) {
    let offset = 0
    this.#fields = Object.values(type.fields).map((field) => {
      const bytes = field instanceof BasicType ? field.byteLength : field.lengthBytes
      const depth = depthOf(Math.ceil(bytes / CHUNK_BYTES))
      const chunks = new Uint8Array(BATCH_RECORDS * CHUNK_BYTES * 2 ** depth)
      offset += bytes
      return { offset: offset - bytes, bytes, depth, chunks, isBoolean: field instanceof BooleanType }
    })
    this.recordBytes = offset
    this.#depth = depthOf(this.#fields.length)
    this.#leaves = new Uint8Array(BATCH_RECORDS * CHUNK_BYTES * 2 ** this.#depth)
    this.#parents = new Uint8Array(this.#leaves.length / 2)
  }

  /**
   * Puts the roots of the records of these numbers among `roots` (32 bytes each): one after the other, or to these places. Throws AppError
   * `node_malformed` for a boolean that is neither 0 nor 1.
   */
  hashInto(records: Uint8Array, indices: Uint32Array, roots: Uint8Array, places?: Uint32Array): void {
    for (let from = 0; from < indices.length; from += BATCH_RECORDS) {
      const batch = indices.subarray(from, from + BATCH_RECORDS)
      this.#fields.forEach((field, place) => {
        this.#layOut(records, batch, field)
        const chunks = field.chunks.subarray(0, batch.length * CHUNK_BYTES * 2 ** field.depth)
        this.#placeLeaves(hashUp(chunks, field.depth), batch.length, place)
      })
      const parents = this.#parents.subarray(0, (batch.length * CHUNK_BYTES * 2 ** this.#depth) / 2)
      // Not in place: the zeros among the leaves are needed again.
      hasher.hashInto(this.#leaves.subarray(0, parents.length * 2), parents)
      const hashed = hashUp(parents, this.#depth - 1)
      for (let i = 0; i < batch.length; i++) copyChunk(hashed, i, roots, places?.[from + i] ?? from + i)
    }
  }

  /** Copies a field of each record into chunks. */
  #layOut(records: Uint8Array, batch: Uint32Array, { offset, bytes, depth, chunks, isBoolean }: RecordField): void {
    const stride = CHUNK_BYTES * 2 ** depth
    // A field of several chunks was hashed in place.
    if (depth > 0) chunks.fill(0, 0, batch.length * stride)
    for (let i = 0; i < batch.length; i++) {
      const from = (batch[i] as number) * this.recordBytes + offset
      const to = i * stride
      if (isBoolean && (records[from] as number) > 1) throw malformed('a boolean of it is neither 0 nor 1')
      for (let byte = 0; byte < bytes; byte++) chunks[to + byte] = records[from + byte] as number
    }
  }

  #placeLeaves(nodes: Uint8Array, count: number, place: number): void {
    const leaves = 2 ** this.#depth
    for (let i = 0; i < count; i++) copyChunk(nodes, i, this.#leaves, i * leaves + place)
  }
}

function copyChunk(from: Uint8Array, fromChunk: number, to: Uint8Array, toChunk: number): void {
  const read = fromChunk * CHUNK_BYTES
  const written = toChunk * CHUNK_BYTES
  for (let byte = 0; byte < CHUNK_BYTES; byte++) to[written + byte] = from[read + byte] as number
}
