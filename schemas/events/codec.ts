import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { AppError } from '../errors.ts'
import type { Envelope, Topic } from './envelope.ts'

export type { Topic } from './envelope.ts'

/** An event as it lies in the log: the envelope's fields for routing, and its data as bytes. */
export interface EncodedEvent {
  readonly id: string
  readonly type: string
  readonly version: number
  readonly key: string
  readonly time: string
  readonly data: Uint8Array
}

/** How the data of one event type is written as bytes. `decode` throws on anything it does not recognise. */
export interface EventType<Name extends string, Data> {
  readonly name: Name
  readonly version: number
  readonly topic: Topic
  encode(data: Data): Uint8Array
  decode(bytes: Uint8Array): Data
  /** Earlier versions: how their data becomes that of this one. A log is never rewritten, so none may be dropped. */
  readonly older?: Readonly<Record<number, Upcast<Data>>>
}

/** Reads the data of an earlier version. What it did not name is filled in: its chain was the log's only one. */
export type Upcast<Data> = (bytes: Uint8Array, chain: string) => Data

const textEncoder = new TextEncoder()
const textDecoder = new TextDecoder('utf-8', { fatal: true })

/** The chain of a log from before events named theirs, unless its identity says otherwise. */
export const UNNAMED_CHAIN = 'mainnet'

/** What names an event type in the log. */
export type EventIdentity<Name extends string> = Pick<EventType<Name, never>, 'name' | 'version' | 'topic'>

/** An event whose data is JSON of one shape. Amounts in it are decimal text, so plain JSON suffices. */
export function jsonEvent<Name extends string, Schema extends TSchema>(
  identity: EventIdentity<Name>,
  schema: Schema,
): EventType<Name, Static<Schema>> {
  const shape = Compile(schema)
  return {
    ...identity,
    encode: (data) => textEncoder.encode(JSON.stringify(data)),
    decode: (bytes) => {
      const value: unknown = JSON.parse(textDecoder.decode(bytes))
      if (!shape.Check(value)) throw new AppError('undecodable', 'event data does not have the shape of its type')
      return value as Static<Schema>
    },
  }
}

/** A typed array that a column can be stored in; all are little-endian on the platforms we run on. */
export type Column = Uint8Array | Uint32Array | Int32Array | BigInt64Array | BigUint64Array

type ColumnCtor = { new (buffer: ArrayBuffer): Column; readonly BYTES_PER_ELEMENT: number }

const COLUMN_TYPES = {
  u8: Uint8Array,
  u32: Uint32Array,
  i32: Int32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
} as const satisfies Record<string, ColumnCtor>

export type ColumnType = keyof typeof COLUMN_TYPES

export type ColumnsOf<Layout extends Record<string, ColumnType>> = {
  readonly [Name in keyof Layout]: InstanceType<(typeof COLUMN_TYPES)[Layout[Name]]>
}

/** Level 1: the columns are mostly repeated values, higher levels cost time and gain little. */
const ZSTD_LEVEL = 1
const HEADER_LENGTH_BYTES = 4
const HEADER_BYTES_MAX = 1 << 20

/** Data of a packed event: a small header of one JSON shape, and columns of one length. */
export interface Packed<Header, Layout extends Record<string, ColumnType>> {
  readonly header: Header
  readonly columns: ColumnsOf<Layout>
}

/**
 * An event of `{ header, columns }`: u32 length of the JSON header, the header (with the row count), then one zstd frame with
 * the columns one after the other. Columns are stored as the difference to the previous row: equal rewards and ascending
 * indices become runs of equal bytes.
 */
export function packedEvent<Name extends string, Schema extends TSchema, Layout extends Record<string, ColumnType>>(
  identity: EventIdentity<Name>,
  schema: Schema,
  layout: Layout,
): EventType<Name, Packed<Static<Schema>, Layout>> {
  const shape = Compile(schema)
  const names = Object.keys(layout) as (keyof Layout & string)[]
  return {
    ...identity,
    encode({ header, columns }) {
      const rows = rowCount(names, columns)
      const head = textEncoder.encode(JSON.stringify({ rows, header }))
      const parts = names.map((name) => toBytes(deltaOf(columns[name] as Column)))
      const packed = zstdCompressSync(Buffer.concat(parts), {
        params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
      })
      const out = Buffer.allocUnsafe(HEADER_LENGTH_BYTES + head.length + packed.length)
      out.writeUInt32LE(head.length, 0)
      out.set(head, HEADER_LENGTH_BYTES)
      out.set(packed, HEADER_LENGTH_BYTES + head.length)
      return out
    },
    decode(bytes) {
      const { rows, header, packed } = splitPacked(bytes)
      if (!shape.Check(header)) {
        throw new AppError('undecodable', 'packed event header does not have the shape of its type')
      }
      return {
        header: header as Static<Schema>,
        columns: unpackColumns(layout, names, rows, zstdDecompressSync(packed)),
      }
    },
  }
}

function splitPacked(bytes: Uint8Array): { readonly rows: number; readonly header: unknown; readonly packed: Buffer } {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const headLength = view.length < HEADER_LENGTH_BYTES ? 0 : view.readUInt32LE(0)
  const end = HEADER_LENGTH_BYTES + headLength
  if (headLength === 0 || headLength > HEADER_BYTES_MAX || end > view.length) {
    throw new AppError('undecodable', 'packed event has no valid header')
  }
  const head = JSON.parse(textDecoder.decode(view.subarray(HEADER_LENGTH_BYTES, end))) as {
    rows: number
    header: unknown
  }
  return { ...head, packed: view.subarray(end) }
}

function unpackColumns<Layout extends Record<string, ColumnType>>(
  layout: Layout,
  names: readonly (keyof Layout & string)[],
  rows: number,
  raw: Buffer,
): ColumnsOf<Layout> {
  const columns: Record<string, Column> = {}
  let at = 0
  for (const name of names) {
    const ctor = COLUMN_TYPES[layout[name] as ColumnType]
    const length = rows * ctor.BYTES_PER_ELEMENT
    if (at + length > raw.length) throw new AppError('undecodable', `packed event is short of column ${name}`)
    const copy = new Uint8Array(length)
    copy.set(raw.subarray(at, at + length))
    columns[name] = undoDelta(new ctor(copy.buffer))
    at += length
  }
  if (at !== raw.length) throw new AppError('undecodable', 'packed event has more bytes than its columns')
  return columns as ColumnsOf<Layout>
}

function rowCount(names: readonly string[], columns: Readonly<Record<string, ArrayLike<unknown>>>): number {
  const rows = columns[names[0] ?? '']?.length ?? 0
  for (const name of names) {
    if (columns[name]?.length !== rows)
      throw new Error(`column ${name} has ${columns[name]?.length} rows, expected ${rows}`)
  }
  return rows
}

function toBytes(column: Column): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}

/** Differences wrap at the column's width, as do the sums that undo them. */
function deltaOf(column: Column): Column {
  const delta = column.slice()
  if (delta instanceof BigInt64Array || delta instanceof BigUint64Array) {
    for (let i = delta.length - 1; i > 0; i--) delta[i] = (delta[i] as bigint) - (delta[i - 1] as bigint)
  } else {
    for (let i = delta.length - 1; i > 0; i--) delta[i] = (delta[i] as number) - (delta[i - 1] as number)
  }
  return delta
}

function undoDelta(column: Column): Column {
  if (column instanceof BigInt64Array || column instanceof BigUint64Array) {
    for (let i = 1; i < column.length; i++) column[i] = (column[i] as bigint) + (column[i - 1] as bigint)
  } else {
    for (let i = 1; i < column.length; i++) column[i] = (column[i] as number) + (column[i - 1] as number)
  }
  return column
}

/** Makes the envelope of an event of this type, data encoded. */
export function encodeEvent<Name extends string, Data>(
  type: EventType<Name, Data>,
  event: Pick<Envelope<Name, Data>, 'id' | 'key' | 'time' | 'data'>,
): EncodedEvent {
  return {
    id: event.id,
    type: type.name,
    version: type.version,
    key: event.key,
    time: event.time,
    data: type.encode(event.data),
  }
}

/**
 * Decodes an event that must be of this type, of its version or an earlier one; throws AppError 'undecodable' otherwise.
 * `unnamedChain` is the chain of events from before events named theirs.
 */
export function decodeEvent<Name extends string, Data>(
  type: EventType<Name, Data>,
  event: EncodedEvent,
  unnamedChain = UNNAMED_CHAIN,
): Data {
  const upcast = event.version === type.version ? type.decode : type.older?.[event.version]
  if (event.type !== type.name || upcast === undefined) {
    throw new AppError('undecodable', `expected ${type.name} v${type.version}, found ${event.type} v${event.version}`)
  }
  try {
    return upcast(event.data, unnamedChain)
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError('undecodable', `data of ${event.type} v${event.version} cannot be decoded`, { cause })
  }
}
