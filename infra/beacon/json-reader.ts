import { AppError } from '../../schemas/errors.ts'

/** More nesting than this is not an answer of a node. */
const DEPTH_MAX = 32
/** Digits of 2^64 - 1 and some leading zeros. */
const DIGITS_MAX = 32
/** Numbers of this many digits are exact in a double. */
export const EXACT_DIGITS = 15
export const TWO_32 = 0x1_0000_0000

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
const COMMA = 0x2c
export const COLON = 0x3a
export const MINUS = 0x2d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74

const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')

/**
 * Walks over the bytes of a JSON document. Every method starts at `at` and leaves it after what it has taken; what is not
 * there, the end of the bytes included, is an AppError `node_malformed`.
 */
export class JsonReader {
  readonly bytes: Uint8Array
  readonly view: DataView
  at = 0
  readonly #before: number
  /** The halves of the integer read last. */
  hi = 0
  lo = 0

  /** `before`: bytes of the document that came before these, for messages. */
  constructor(bytes: Uint8Array, before = 0) {
    this.bytes = bytes
    this.#before = before
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  space(): void {
    const bytes = this.bytes
    for (;;) {
      const byte = bytes[this.at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return
      this.at++
    }
  }

  expect(byte: number): void {
    this.space()
    this.#expectHere(byte)
  }

  #expectHere(byte: number): void {
    if (this.bytes[this.at] !== byte) this.fail(`${String.fromCharCode(byte)} is missing`)
    this.at++
  }

  /** Takes a comma (true: another member follows) or the closing bracket (false). */
  another(close: number): boolean {
    this.space()
    const byte = this.bytes[this.at]
    this.at++
    if (byte === COMMA) return true
    if (byte === close) return false
    this.at--
    return this.fail('a comma or a closing bracket is missing')
  }

  /** Whether the text and its closing quote stand at a position. */
  isTextAt(start: number, text: Uint8Array): boolean {
    const bytes = this.bytes
    if (bytes[start + text.length] !== QUOTE) return false
    for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text[i]) return false
    return true
  }

  /** The key that stands here, its colon not yet taken. */
  keyText(): string {
    this.space()
    const start = this.at
    this.skipString()
    const text = Buffer.from(this.bytes.buffer, this.bytes.byteOffset + start, this.at - start).toString('utf8')
    if (!text.includes('\\')) return text.slice(1, -1)
    try {
      return JSON.parse(text) as string
    } catch {
      return this.fail('a key is not valid text')
    }
  }

  /** Passes over a string; true when it holds escapes. */
  skipString(): boolean {
    const bytes = this.bytes
    if (bytes[this.at] !== QUOTE) this.fail('text is missing')
    let escaped = false
    let at = this.at + 1
    for (; at < bytes.length; at++) {
      if (bytes[at] === QUOTE) {
        this.at = at + 1
        return escaped
      }
      if (bytes[at] === BACKSLASH) {
        escaped = true
        at++
      }
    }
    this.at = at
    return this.fail('text has no end')
  }

  boolean(): boolean {
    const quoted = this.bytes[this.at] === QUOTE
    if (quoted) this.at++
    const value = this.bytes[this.at] === LETTER_T
    this.#literal(value ? TRUE : FALSE)
    if (quoted) this.#expectHere(QUOTE)
    return value
  }

  #literal(text: Uint8Array): void {
    for (let i = 0; i < text.length; i++) {
      if (this.bytes[this.at + i] !== text[i]) this.fail('an unknown literal')
    }
    this.at += text.length
  }

  /** Reads an integer, quoted or not, into two 32-bit halves, in two's complement when negative. */
  integer(signed: boolean): void {
    const bytes = this.bytes
    const quoted = bytes[this.at] === QUOTE
    if (quoted) this.at++
    const negative = signed && bytes[this.at] === MINUS
    if (negative) this.at++
    let value = 0
    let digits = 0
    for (;;) {
      const digit = (bytes[this.at] as number) - 0x30
      if (!(digit >= 0 && digit <= 9)) break
      if (digits === EXACT_DIGITS) break
      value = value * 10 + digit
      digits++
      this.at++
    }
    if (digits === 0) this.fail('a number is missing')
    this.lo = value >>> 0
    this.hi = Math.floor(value / TWO_32)
    if (digits === EXACT_DIGITS) this.#moreDigits()
    if (signed) this.#applySign(negative)
    if (quoted) this.#expectHere(QUOTE)
  }

  #moreDigits(): void {
    for (let digits = EXACT_DIGITS; ; digits++) {
      const digit = (this.bytes[this.at] as number) - 0x30
      if (!(digit >= 0 && digit <= 9)) return
      const lo = this.lo * 10 + digit
      this.hi = this.hi * 10 + Math.floor(lo / TWO_32)
      this.lo = lo >>> 0
      if (this.hi >= TWO_32 || digits > DIGITS_MAX) this.fail('a number does not fit 64 bits')
      this.at++
    }
  }

  #applySign(negative: boolean): void {
    const min = this.hi === 0x8000_0000 && this.lo === 0
    if (this.hi > 0x7fff_ffff && !(negative && min)) this.fail('a number does not fit signed 64 bits')
    if (!negative) return
    this.lo = (~this.lo + 1) >>> 0
    this.hi = (this.lo === 0 ? ~this.hi + 1 : ~this.hi) >>> 0
  }

  skipValue(depth: number): void {
    if (depth > DEPTH_MAX) this.fail('values are nested too deeply')
    const first = this.bytes[this.at]
    if (first === QUOTE) this.skipString()
    else if (first === OPEN_OBJECT || first === OPEN_ARRAY) this.#skipMembers(first === OPEN_OBJECT, depth)
    else if (first === LETTER_T) this.#literal(TRUE)
    else if (first === LETTER_F) this.#literal(FALSE)
    else if (first === LETTER_N) this.#literal(NULL)
    else this.#skipNumber()
  }

  #skipMembers(isObject: boolean, depth: number): void {
    const close = isObject ? CLOSE_OBJECT : CLOSE_ARRAY
    this.at++
    this.space()
    if (this.bytes[this.at] === close) {
      this.at++
      return
    }
    do {
      this.space()
      if (isObject) {
        this.skipString()
        this.expect(COLON)
        this.space()
      }
      this.skipValue(depth + 1)
    } while (this.another(close))
  }

  #skipNumber(): void {
    const start = this.at
    for (;;) {
      const byte = this.bytes[this.at] as number
      const isNumeric = (byte >= 0x30 && byte <= 0x39) || byte === MINUS || byte === 0x2b || byte === 0x2e
      if (!isNumeric && byte !== 0x65 && byte !== 0x45) break
      this.at++
    }
    if (this.at === start) this.fail('a value is missing')
  }

  fail(what: string): never {
    const cut = this.at >= this.bytes.length
    const where = cut ? 'it ends too early' : `at byte ${this.#before + this.at}`
    throw new AppError('node_malformed', `the answer cannot be read: ${what}, ${where}`, { retryable: true })
  }
}
