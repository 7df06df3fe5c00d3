import {
  BasicType,
  ByteVectorType,
  ListBasicType,
  ListCompositeType,
  type Type,
  VectorBasicType,
  VectorCompositeType,
} from '@chainsafe/ssz'
import { ssz } from '@lodestar/types'
import { parseTransitionFork, type TransitionFork } from '../../schemas/eth/transition/fork-rules.ts'
import { KeptTree } from './kept-tree.ts'
import { CHUNK_BYTES, climb, depthOf, withLength } from './merkle.ts'
import { isRecord, RecordHasher } from './record-hasher.ts'
import { malformed, SerializedState } from './serialized-state.ts'
import type { StateMemory } from './state-memory.ts'

/** Three times mainnet's state of 2025. */
const STATE_BYTES_MAX = 2 ** 30
/** Room for so much more at a time: states grow in every epoch. */
const COPY_STEP_BYTES = 2 ** 24
const NOTHING = Buffer.alloc(0)

/** Bytes of a state's field, whose kind says how its root is made. */
type Field =
  | { readonly kind: 'whole'; readonly type: Type<unknown> }
  | { readonly kind: 'vector'; readonly tree: KeptTree }
  | { readonly kind: 'list'; readonly tree: KeptTree; readonly entryBytes: number; readonly entriesMax: number }

type Fields = ReadonlyMap<string, Field>

/** What the next root is told by. */
interface Kept {
  readonly fork: TransitionFork
  readonly fields: Fields
  readonly bytes: Uint8Array
  /** The fields' own, by their names. */
  readonly parts: ReadonlyMap<string, Buffer>
  /** Of the fields, 32 bytes each. */
  readonly roots: Uint8Array
}

/**
 * Roots of serialized states (hash_tree_root of BeaconState) of the preset of this process. Each is told by the one before: fields are compared
 * byte by byte, and only what differs is hashed again. So any order of states gives the right roots, and a branch in its own order
 * the quickest. No object is made of a validator.
 *
 * Kept are the last state's bytes, but for lists that are written over, and 20 bytes of nodes per validator above them, 45 MB of mainnet; 52 where
 * registries are compared.
 */
export class StateRoots {
  readonly #lent: boolean
  #kept: Kept | undefined
  #copy = new Uint8Array(0)

  /**
   * `lent`: the bytes of a state are not copied. Whoever gives them leaves them as they are until the next state has its root, which therefore
   * lies in another buffer.
   */
  constructor({ lent = false }: { readonly lent?: boolean } = {}) {
    this.#lent = lent
  }

  /**
   * 32 bytes. `apart`: where lists of the states are written one over the other, if they are not among the bytes; then they are of all states.
   * Throws AppError `node_malformed` where the bytes are no state of the fork, `usage` for a fork that is not known here.
   */
  rootOf(forkName: string, bytes: Uint8Array, apart?: StateMemory): Uint8Array {
    const fork = parseTransitionFork(forkName)
    const before = this.#comparable(fork, bytes)
    const fields = before?.fields ?? fieldsOf(fork)
    const parts = bytesOfFields(fork, fields, bytes, apart)
    // Half-made trees are of no state: they are dropped if a field turns out to be malformed.
    this.#kept = undefined
    const roots = new Uint8Array(fields.size * CHUNK_BYTES)
    for (const [place, [name, field]] of [...fields].entries()) {
      const now = parts.get(name) ?? NOTHING
      const marks = apart?.lists.get(name)?.marks
      const root = rootOfField(field, { before: before?.parts.get(name) ?? NOTHING, now, marks })
      roots.set(root, place * CHUNK_BYTES)
    }
    this.#kept = { fork, fields, ...this.#keptBytes(fork, fields, { bytes, parts }), roots: roots.slice() }
    return climb(roots, [fields.size], 0, depthOf(fields.size))
  }

  /** Roots of the last state's fields in their order, 32 bytes each: for `rootOfFields`. */
  fieldRoots(): Uint8Array {
    if (this.#kept === undefined) throw new Error('there is no state yet')
    return this.#kept.roots.slice()
  }

  /** Bytes that are kept until the next state, without those that are lent. */
  get keptBytes(): number {
    const fields = [...(this.#kept?.fields.values() ?? [])]
    return fields.reduce((sum, field) => sum + (field.kind === 'whole' ? 0 : field.tree.keptBytes), this.#copy.length)
  }

  /** The last state, if it is of the fork, and if the new one has not been written over it. */
  #comparable(fork: TransitionFork, bytes: Uint8Array): Kept | undefined {
    if (this.#kept?.fork !== fork || overlap(this.#kept.bytes, bytes)) return undefined
    return this.#kept
  }

  #keptBytes(
    fork: TransitionFork,
    fields: Fields,
    given: Pick<Kept, 'bytes' | 'parts'>,
  ): Pick<Kept, 'bytes' | 'parts'> {
    if (this.#lent) return given
    const bytes = this.#copied(given.bytes)
    return { bytes, parts: bytesOfFields(fork, fields, bytes) }
  }

  #copied(bytes: Uint8Array): Uint8Array {
    if (bytes.length > this.#copy.length)
      this.#copy = new Uint8Array(Math.ceil(bytes.length / COPY_STEP_BYTES) * COPY_STEP_BYTES)
    this.#copy.set(bytes)
    return this.#copy.subarray(0, bytes.length)
  }
}

/** Root of a state by those of its fields, as it would be with other bytes of some fields of fixed length, by their names. */
export function rootOfFields(
  fork: TransitionFork,
  fieldRoots: Uint8Array,
  replaced: ReadonlyMap<string, Uint8Array>,
): Uint8Array {
  const types = Object.entries<Type<unknown>>(ssz[fork].BeaconState.fields)
  const roots = fieldRoots.slice()
  for (const [place, [name, type]] of types.entries()) {
    const bytes = replaced.get(name)
    if (bytes !== undefined) roots.set(rootOfWhole(type, bytes), place * CHUNK_BYTES)
  }
  return climb(roots, [types.length], 0, depthOf(types.length))
}

function fieldsOf(fork: TransitionFork): Fields {
  const types: Readonly<Record<string, Type<unknown>>> = ssz[fork].BeaconState.fields
  return new Map(Object.entries(types).map(([name, type]) => [name, fieldOf(type)]))
}

function fieldOf(type: Type<unknown>): Field {
  if (type instanceof ListBasicType || type instanceof ListCompositeType)
    return {
      kind: 'list',
      tree: treeOf(type.maxChunkCount, type.elementType),
      entryBytes: type.elementType.fixedSize as number,
      entriesMax: type.limit,
    }
  if (type instanceof VectorBasicType || type instanceof VectorCompositeType)
    return { kind: 'vector', tree: treeOf(type.maxChunkCount, type.elementType) }
  if (type instanceof BasicType || type instanceof ByteVectorType)
    return { kind: 'vector', tree: new KeptTree(depthOf(type.maxChunkCount)) }
  if (isRecord(type)) return { kind: 'vector', tree: new KeptTree(0, new RecordHasher(type)) }
  return { kind: 'whole', type }
}

function treeOf(leavesMax: number, elements: Type<unknown>): KeptTree {
  if (elements instanceof BasicType || (elements instanceof ByteVectorType && elements.fixedSize === CHUNK_BYTES))
    return new KeptTree(depthOf(leavesMax))
  if (!isRecord(elements)) throw new Error(`no tree is known over entries of ${elements.typeName}`)
  return new KeptTree(depthOf(leavesMax), new RecordHasher(elements))
}

function bytesOfFields(
  fork: TransitionFork,
  fields: Fields,
  bytes: Uint8Array,
  apart?: StateMemory,
): ReadonlyMap<string, Buffer> {
  const state = new SerializedState(fork, bytes, apart?.bytes)
  if (state.length > STATE_BYTES_MAX) throw malformed(`it has ${state.length} bytes`)
  return new Map(
    [...fields].map(([name, field]) => {
      const found = bytesOfField(state, name, field, state.isVariable(name))
      return [name, Buffer.from(found.buffer, found.byteOffset, found.length)]
    }),
  )
}

function bytesOfField(state: SerializedState, name: string, field: Field, isVariable: boolean): Uint8Array {
  if (field.kind !== 'list') return isVariable ? state.variable(name) : state.vector(name)
  const list = state.list(name, field.entryBytes)
  if (list.length <= field.entriesMax * field.entryBytes) return list
  throw malformed(`its ${name} has more than ${field.entriesMax} entries`)
}

function rootOfField(
  field: Field,
  { before, now, marks }: { readonly before: Buffer; readonly now: Buffer; readonly marks: Uint8Array | undefined },
): Uint8Array {
  if (field.kind === 'whole') return rootOfWhole(field.type, now)
  const root = marks === undefined ? field.tree.rootOf(before, now) : field.tree.rootOfMarked(now, marks)
  return field.kind === 'list' ? withLength(root, now.length / field.entryBytes) : root
}

function rootOfWhole(type: Type<unknown>, bytes: Uint8Array): Uint8Array {
  let value: unknown
  try {
    value = type.deserialize(bytes)
  } catch (error) {
    throw malformed(`it has no ${type.typeName} where there should be one`, error)
  }
  return type.hashTreeRoot(value)
}

function overlap(one: Uint8Array, other: Uint8Array): boolean {
  if (one.buffer !== other.buffer) return false
  return one.byteOffset < other.byteOffset + other.length && other.byteOffset < one.byteOffset + one.length
}
