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

/** Bytes to compare with, four at a time: that is several times as fast as one by one. */
class Literal {
  readonly length: number
  readonly #words: Int32Array
  readonly #rest: Uint8Array

  constructor(bytes: Uint8Array) {
    this.length = bytes.length
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#words = Int32Array.from({ length: bytes.length >> 2 }, (_, i) => view.getInt32(4 * i, true))
    this.#rest = bytes.slice(4 * this.#words.length)
  }

  /** Takes the bytes, if they stand here. */
  take(json: JsonReader): boolean {
    const { bytes, view } = json
    const words = this.#words
    const rest = this.#rest
    let { at } = json
    if (at + this.length > bytes.length) return false
    for (let i = 0; i < words.length; i++, at += 4) if (view.getInt32(at, true) !== words[i]) return false
    for (let i = 0; i < rest.length; i++, at++) if (bytes[at] !== rest[i]) return false
    json.at = at
    return true
  }
}

/** What stands before a value, and how the value is read. */
interface Step {
  readonly literal: Literal
  readonly kind: number
  readonly slot: ColumnSlot | undefined
  readonly texts: readonly Uint8Array[]
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
      return { literal, kind, slot, texts, lastText: 0, repeat: undefined, repeats }
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
  if (kind === KIND_SKIPPED_TEXT) return passText(json)
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

/** Passes over text up to its closing quote, which is not taken; false for text with escapes. */
function passText(json: JsonReader): boolean {
  const { bytes, view } = json
  let { at } = json
  for (const last = bytes.length - 4; at <= last; at += 4) {
    const word = view.getInt32(at, true)
    if ((zeroByteIn(word ^ QUOTES) | zeroByteIn(word ^ BACKSLASHES)) !== 0) break
  }
  for (; ; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      json.at = at
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
