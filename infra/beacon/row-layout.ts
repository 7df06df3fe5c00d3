import { GWEI_PER_ETH } from '../../schemas/eth/units.ts'
import {
  type ColumnSlot,
  KIND_BOOL,
  KIND_ETH,
  KIND_I64,
  KIND_ONE_OF,
  KIND_SKIPPED,
  KIND_SKIPPED_TEXT,
  KIND_U32,
  KIND_U64,
} from './columns.ts'
import { BACKSLASH, EXACT_DIGITS, type JsonReader, MINUS, QUOTE, TWO_32 } from './json-reader.ts'

/** A value of a row that was read key by key: where its bytes lie, and what they are. */
export interface ReadValue {
  readonly start: number
  readonly end: number
  /** Undefined for a value that nobody asked for. */
  readonly slot?: ColumnSlot | undefined
  readonly texts?: readonly Uint8Array[]
}

const WORD_BYTES = 8

/** Bytes to compare with, eight at a time as doubles: that is many times as fast as one by one. */
class Literal {
  readonly length: number
  /** The last one begins so that it ends with the bytes: it may overlap the one before. */
  readonly #words: Float64Array
  /** Of a literal that is shorter than a word. */
  readonly #short: Uint8Array

  constructor(bytes: Uint8Array) {
    this.length = bytes.length
    const isShort = bytes.length < WORD_BYTES
    this.#short = isShort ? bytes : bytes.subarray(0, 0)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const words = isShort ? 0 : Math.ceil(bytes.length / WORD_BYTES)
    this.#words = Float64Array.from({ length: words }, (_, i) => {
      const word = view.getFloat64(Math.min(i * WORD_BYTES, bytes.length - WORD_BYTES), true)
      // Equal doubles have equal bits, but for zeros: nothing is equal to what may be one of them. No text has them.
      return word === 0 ? Number.NaN : word
    })
  }

  /** Takes the bytes, if they stand here. */
  take(json: JsonReader): boolean {
    const { bytes, view } = json
    const words = this.#words
    const { at } = json
    const end = at + this.length
    if (end > bytes.length) return false
    const last = words.length - 1
    if (last < 0) {
      const short = this.#short
      for (let i = 0; i < short.length; i++) if (bytes[at + i] !== short[i]) return false
    } else {
      for (let i = 0; i < last; i++) if (view.getFloat64(at + i * WORD_BYTES, true) !== words[i]) return false
      if (view.getFloat64(end - WORD_BYTES, true) !== words[last]) return false
    }
    json.at = end
    return true
  }
}

/** What stands before a value, and how the value is read. */
interface Step {
  readonly literal: Literal
  readonly kind: number
  readonly slot: ColumnSlot | undefined
  readonly texts: readonly Uint8Array[]
  /** Length of the text that was passed over last: keys and the like have one length in all rows. */
  passedBytes: number
  /** Position in `texts` of the value met last: most rows have the same one. */
  lastText: number
  /** The literal and the value met last, and the row that has it: some values hardly ever change from row to row. */
  repeat: { readonly bytes: Literal; readonly row: number } | undefined
  /** How often it did not change, less how often it did. */
  repeats: number
}

const REPEATS_MAX = 64
/** A step whose value changes more often is not looked at that way any more. */
const REPEATS_MIN = -16

/**
 * How the bytes of one row lie. Nodes write all rows of an answer alike: the same keys in the same order with the same
 * punctuation, only the values differ. A row that lies like the one before is read by comparing what stands between its values,
 * without looking for keys.
 */
export class RowLayout {
  readonly #steps: readonly Step[]
  /** What stands after the last value. */
  readonly #tail: Literal

  /** Learns from a row that was read key by key. */
  constructor(bytes: Uint8Array, row: { readonly start: number; readonly end: number }, values: readonly ReadValue[]) {
    let at = row.start
    this.#steps = values.map(({ start, end, slot, texts = [] }) => {
      // Quotes belong to what stands between the values.
      const quote = bytes[start] === QUOTE ? 1 : 0
      const literal = new Literal(bytes.slice(at, start + quote))
      at = end - quote
      const kind = slot?.kind ?? (quote === 1 ? KIND_SKIPPED_TEXT : KIND_SKIPPED)
      const repeats = REPEATING.has(kind) ? 0 : REPEATS_MIN
      return { literal, kind, slot, texts, passedBytes: 0, lastText: 0, repeat: undefined, repeats }
    })
    this.#tail = new Literal(bytes.slice(at, row.end))
  }

  /**
   * Reads the row that stands here into `row` of the columns, when it lies like the learned one and has no value that is odd in
   * any way. Otherwise it is false and nothing is taken: whoever reads key by key knows what is wrong, or reads it.
   */
  read(json: JsonReader, row: number): boolean {
    const start = json.at
    for (const step of this.#steps) {
      if (step.repeat?.bytes.take(json) === true) {
        copyValue(step.slot as ColumnSlot, step.repeat.row, row)
        if (step.repeats < REPEATS_MAX) step.repeats++
        continue
      }
      const { at } = json
      if (!step.literal.take(json) || !readValue(json, step, row)) {
        json.at = start
        return false
      }
      if (step.repeats > REPEATS_MIN) noteValue(json, step, at, row)
    }
    if (this.#tail.take(json)) return true
    json.at = start
    return false
  }
}

/** Numbers that are the same for most validators, and texts of a list. */
const REPEATING: ReadonlySet<number> = new Set([KIND_U64, KIND_ETH, KIND_BOOL, KIND_ONE_OF])

function noteValue(json: JsonReader, step: Step, from: number, row: number): void {
  step.repeats--
  const isWorthIt = step.repeats > REPEATS_MIN
  // Whatever is longer than the value does not go on with what stands after it: then the row is read key by key.
  step.repeat = isWorthIt ? { bytes: new Literal(json.bytes.slice(from, json.at)), row } : undefined
}

function copyValue({ kind, array, halves }: ColumnSlot, from: number, to: number): void {
  if (kind === KIND_U64) {
    halves[2 * to] = halves[2 * from] as number
    halves[2 * to + 1] = halves[2 * from + 1] as number
  } else array[to] = array[from] as never
}

function readValue(json: JsonReader, step: Step, row: number): boolean {
  const { kind, slot } = step
  if (kind === KIND_SKIPPED_TEXT) return passText(json, step)
  if (slot === undefined) {
    json.skipValue(0)
    return true
  }
  if (kind === KIND_BOOL) {
    slot.array[row] = json.boolean() ? 1 : 0
    return true
  }
  if (kind === KIND_ONE_OF) return readText(json, step, slot, row)
  return readInteger(json, kind, slot, row)
}

const QUOTES = 0x2222_2222
const BACKSLASHES = 0x5c5c_5c5c

/** Not 0 when one of the four bytes is 0. */
function zeroByteIn(word: number): number {
  return (word - 0x0101_0101) & ~word & 0x8080_8080
}

/** Of each of four bytes. */
const BITS_5 = 0x2020_2020

/**
 * Whether neither a quote nor a backslash is among so many bytes, four at least. Bits 4 to 6 of theirs are 010 and 101: what has bit 5 and one
 * beside it is something else, as all digits and small letters are. False for text that has other characters.
 */
function isPlain(view: DataView, from: number, end: number): boolean {
  const last = end - 4
  let all = withNeighbours(view.getInt32(last, true))
  for (let at = from; at < last; at += 4) all &= withNeighbours(view.getInt32(at, true))
  return (all & BITS_5) === BITS_5
}

/** The bits that are set and have one beside them that is. */
function withNeighbours(word: number): number {
  return word & ((word << 1) | (word >>> 1))
}

/** Passes over text up to its closing quote, which is not taken; false for text with escapes. */
function passText(json: JsonReader, step: Step): boolean {
  const { bytes, view } = json
  const start = json.at
  const expected = start + step.passedBytes
  if (step.passedBytes >= 4 && bytes[expected] === QUOTE && isPlain(view, start, expected)) {
    json.at = expected
    return true
  }
  let at = start
  for (const last = bytes.length - 4; at <= last; at += 4) {
    const word = view.getInt32(at, true)
    if ((zeroByteIn(word ^ QUOTES) | zeroByteIn(word ^ BACKSLASHES)) !== 0) break
  }
  for (; ; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      json.at = at
      step.passedBytes = at - start
      return true
    }
    if (byte === BACKSLASH || byte === undefined) return false
  }
}

function readText(json: JsonReader, step: Step, slot: ColumnSlot, row: number): boolean {
  const { texts, lastText } = step
  for (let i = 0; i < texts.length; i++) {
    const at = (lastText + i) % texts.length
    const text = texts[at] as Uint8Array
    if (!json.isTextAt(json.at, text)) continue
    json.at += text.length
    step.lastText = at
    slot.array[row] = at
    return true
  }
  return false
}

function readInteger(json: JsonReader, kind: number, slot: ColumnSlot, row: number): boolean {
  const { bytes } = json
  let { at } = json
  const negative = kind === KIND_I64 && bytes[at] === MINUS
  if (negative) at++
  const first = at
  let value = 0
  for (;;) {
    const digit = (bytes[at] as number) - 0x30
    if (!(digit >= 0 && digit <= 9)) break
    value = value * 10 + digit
    at++
  }
  const digits = at - first
  if (digits === 0) return false
  if (digits > EXACT_DIGITS) {
    if (kind === KIND_U32 || kind === KIND_ETH) return false
    json.integer(kind === KIND_I64)
    slot.halves[2 * row] = json.lo
    slot.halves[2 * row + 1] = json.hi
    return true
  }
  json.at = at
  if (kind === KIND_U32) {
    slot.array[row] = value
    return value < TWO_32
  }
  if (kind === KIND_ETH) {
    const eth = value / GWEI_PER_ETH
    slot.array[row] = eth
    return Number.isInteger(eth)
  }
  const signed = negative ? -value : value
  slot.halves[2 * row] = signed >>> 0
  slot.halves[2 * row + 1] = Math.floor(signed / TWO_32) >>> 0
  return true
}
