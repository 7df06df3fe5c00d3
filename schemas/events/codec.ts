import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { AppError } from '../errors.ts'
import { giveBackWhole, ownMemory } from '../memory.ts'
import { type ColumnsOf, type Layout, packColumns, packedBytes, unpackColumns } from './columns.ts'
import type { Envelope, Topic } from './envelope.ts'

export type { ColumnsOf } from './columns.ts'
export type { Topic } from './envelope.ts'

// Limits of an event: whoever encodes refuses what no decoder would take, so that nothing lies in the log that cannot be read.

/** JSON header of a packed event: lists of a whole epoch stay below it. */
export const HEADER_BYTES_MAX = 1 << 20
/** Columns of a packed event before compression: a hostile frame must not fill the memory; the largest of ours have 2 MB. */
export const COLUMNS_BYTES_MAX = 16 << 20
/** Frame, key and headers of an event in Kafka; generous, the true size is about 200 bytes. */
const MESSAGE_OVERHEAD_BYTES = 4_096
/** Data of one event: what our topics take (16 MiB a message). */
export const EVENT_BYTES_MAX = (16 << 20) - MESSAGE_OVERHEAD_BYTES
/** Data of an event that passes through a topic with Kafka's default `max.message.bytes`, 1,048,588. */
export const DEFAULT_TOPIC_EVENT_BYTES_MAX = 1_048_588 - MESSAGE_OVERHEAD_BYTES

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
  /** Of the encoded data; `EVENT_BYTES_MAX` where nothing is said. */
  readonly bytesMax?: number
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

/** What names an event type in the log, and how large the data of one event may be where not `EVENT_BYTES_MAX`. */
export type EventIdentity<Name extends string> = Pick<EventType<Name, never>, 'name' | 'version' | 'topic' | 'bytesMax'>

/** An event whose data is JSON of one shape. Amounts in it are decimal text, so plain JSON suffices. */
export function jsonEvent<Name extends string, Schema extends TSchema>(
  identity: EventIdentity<Name>,
  schema: Schema,
  older: Readonly<Record<number, Upcast<Static<Schema>>>> = {},
): EventType<Name, Static<Schema>> {
  const shape = Compile(schema)
  return {
    ...identity,
    encode(data) {
      // What no reader would take must not get into the log.
      if (!shape.Check(data)) throw new AppError('event_log', `the data of ${identity.name} does not have its shape`)
      const bytes = textEncoder.encode(JSON.stringify(data))
      refuseAbove(EVENT_BYTES_MAX, bytes.length, identity.name)
      return bytes
    },
    decode: jsonDecoder(schema),
    older,
  }
}

/** Reads JSON of an earlier version's shape. */
export function olderJson<Schema extends TSchema, Data>(
  schema: Schema,
  upcast: (data: Static<Schema>, chain: string) => Data,
): Upcast<Data> {
  const decode = jsonDecoder(schema)
  return (bytes, chain) => upcast(decode(bytes), chain)
}

function jsonDecoder<Schema extends TSchema>(schema: Schema): (bytes: Uint8Array) => Static<Schema> {
  const shape = Compile(schema)
  return (bytes) => {
    if (bytes.length > EVENT_BYTES_MAX) throw new AppError('undecodable', `event data of ${bytes.length} bytes`)
    const value: unknown = JSON.parse(textDecoder.decode(bytes))
    if (!shape.Check(value)) throw new AppError('undecodable', 'event data does not have the shape of its type')
    return value as Static<Schema>
  }
}

/** Level 1: the columns are mostly repeated values, higher levels cost time and gain little. */
const ZSTD_LEVEL = 1
const HEADER_LENGTH_BYTES = 4
// Of what columns are packed and unpacked to: most events fill one piece and leave little of it empty. Pieces are joined to a copy, and each megabyte
// of memory that is let go brings nearer that everything is tidied up.
const CHUNK_BYTES_MIN = 1_024
const USUAL_RATIO = 4
/** Events of a type are packed about as well as the one before. */
const PACKED_LIKE_LAST = 9 / 8
/** A smaller piece is a part of Node's pool, which nobody can give back. */
const OWN_PIECE_BYTES_MIN = Buffer.poolSize / 2
/** A piece that is full asks for another one. */
const CHUNK_BYTES_LEFT = 64

/** Data of a packed event: a small header of one JSON shape, and columns of one length. */
export interface Packed<Header, L extends Layout> {
  readonly header: Header
  readonly columns: ColumnsOf<L>
}

/**
 * An event of `{ header, columns }`: u32 length of the JSON header, the header (with the row count), then one zstd frame with
 * the columns one after the other, each in the form that its layout names (`columns.ts`). Throws AppError `event_log` for data beyond the limits, which no reader would take.
 */
export function packedEvent<Name extends string, Schema extends TSchema, L extends Layout>(
  identity: EventIdentity<Name>,
  schema: Schema,
  layout: L,
  older: Readonly<Record<number, Upcast<Packed<Static<Schema>, NoInfer<L>>>>> = {},
): EventType<Name, Packed<Static<Schema>, L>> {
  const { bytesMax = EVENT_BYTES_MAX } = identity
  /** Of an event's columns, what is left of them when they are packed. */
  let share = 1 / USUAL_RATIO
  return {
    ...identity,
    older,
    encode({ header, columns }) {
      const gathering = gather(`the columns of ${identity.name}`)
      const rows = packColumns(layout, columns, gathering.put)
      const head = textEncoder.encode(JSON.stringify({ rows, header }))
      refuseAbove(HEADER_BYTES_MAX, head.length, `the header of ${identity.name}`)
      const gathered = gathering.bytes()
      const packed = zstdCompressSync(gathered, {
        params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
        chunkSize: chunkBytes(
          Math.max(share * gathered.length, gathered.length < OWN_PIECE_BYTES_MIN ? 0 : OWN_PIECE_BYTES_MIN),
        ),
      })
      if (gathered.length > 0) share = Math.min(1, (PACKED_LIKE_LAST * packed.length) / gathered.length)
      const length = HEADER_LENGTH_BYTES + head.length + packed.length
      refuseAbove(bytesMax, length, identity.name)
      const out = ownMemory(length)
      out.writeUInt32LE(head.length, 0)
      out.set(head, HEADER_LENGTH_BYTES)
      out.set(packed, HEADER_LENGTH_BYTES + head.length)
      giveBackWhole([packed])
      return out
    },
    decode: packedDecoder(schema, layout, bytesMax),
  }
}

/** What is compressed, until the next event is: let go each time, it would be as much memory again as the columns. */
let room = new Uint8Array(0)

/** Gathers the pieces of one event's columns there. Throws as soon as they are above the limit. */
function gather(what: string) {
  let end = 0
  return {
    put(piece: Uint8Array): void {
      const next = end + piece.length
      refuseAbove(COLUMNS_BYTES_MAX, next, what)
      if (next > room.length) {
        const larger = new Uint8Array(Math.min(2 * next, COLUMNS_BYTES_MAX))
        larger.set(room.subarray(0, end))
        room = larger
      }
      room.set(piece, end)
      end = next
    },
    bytes: () => room.subarray(0, end),
  }
}

function refuseAbove(bytesMax: number, bytes: number, what: string): void {
  if (bytes > bytesMax) throw new AppError('event_log', `${what} has ${bytes} bytes, ${bytesMax} are the limit`)
}

/** Reads packed data of an earlier version's header and columns. */
export function olderPacked<Schema extends TSchema, L extends Layout, Data>(
  shape: { readonly header: Schema; readonly layout: L },
  upcast: (data: Packed<Static<Schema>, L>, chain: string) => Data,
): Upcast<Data> {
  const decode = packedDecoder(shape.header, shape.layout, EVENT_BYTES_MAX)
  return (bytes, chain) => upcast(decode(bytes), chain)
}

function packedDecoder<Schema extends TSchema, L extends Layout>(
  schema: Schema,
  layout: L,
  bytesMax: number,
): (bytes: Uint8Array) => Packed<Static<Schema>, L> {
  const shape = Compile(schema)
  return (bytes) => {
    if (bytes.length > bytesMax) throw new AppError('undecodable', `packed event of ${bytes.length} bytes`)
    const { rows, header, packed } = splitPacked(bytes)
    if (!shape.Check(header)) {
      throw new AppError('undecodable', 'packed event header does not have the shape of its type')
    }
    const columns = zstdDecompressSync(packed, {
      maxOutputLength: COLUMNS_BYTES_MAX,
      chunkSize: chunkBytes(packedBytes(layout, rows) ?? packed.length * USUAL_RATIO),
    })
    const unpacked = unpackColumns(layout, rows, columns)
    giveBackWhole([columns])
    return { header: header as Static<Schema>, columns: unpacked }
  }
}

function chunkBytes(expected: number): number {
  return Math.min(Math.max(CHUNK_BYTES_MIN, Math.ceil(expected) + CHUNK_BYTES_LEFT), COLUMNS_BYTES_MAX)
}

const isHead = Compile(Type.Object({ rows: Type.Integer({ minimum: 0 }), header: Type.Unknown() }))

function splitPacked(bytes: Uint8Array): { readonly rows: number; readonly header: unknown; readonly packed: Buffer } {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const headLength = view.length < HEADER_LENGTH_BYTES ? 0 : view.readUInt32LE(0)
  const end = HEADER_LENGTH_BYTES + headLength
  if (headLength === 0 || headLength > HEADER_BYTES_MAX || end > view.length) {
    throw new AppError('undecodable', 'packed event has no valid header')
  }
  const head: unknown = JSON.parse(textDecoder.decode(view.subarray(HEADER_LENGTH_BYTES, end)))
  if (!isHead.Check(head)) throw new AppError('undecodable', 'packed event does not tell its rows')
  return { rows: head.rows, header: head.header, packed: view.subarray(end) }
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

/**
 * What `read` makes of an event; undefined, with the reason told, where the event is undecodable: one event that nobody can read is
 * no reason to stop, and the processors set it aside. Other errors are thrown.
 */
export function unlessUndecodable<Value>(
  read: () => Value,
  onUndecodable?: (reason: string) => void,
): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'undecodable')) throw error
    onUndecodable?.(error.message)
    return undefined
  }
}
