/** First bytes of strings and lists (yellow paper, appendix B). */
const SHORT_STRING = 0x80
const SHORT_LIST = 0xc0
/** Up to so many bytes an item's length is in its first byte. */
const SHORT_BYTES_MAX = 55
const FIRST_BYTES = 1 << 16

/**
 * Writes RLP from its end to its beginning, as JSON-RPC has it, in hex: what a list begins with is its length, which is known once its
 * items stand there. So nothing is counted beforehand and no item is an object: blocks' receipts are megabytes of them.
 *
 * Items of a list are written last to first, then `closeList` with the mark from before them.
 */
export class RlpWriter {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  #at = FIRST_BYTES

  /** Forgets what was written; what was taken before is overwritten. */
  reset(): void {
    this.#at = this.#bytes.length
  }

  /** Where the next item ends, counted from the end. */
  get mark(): number {
    return this.#bytes.length - this.#at
  }

  /** All that was written since the mark: good until `reset`. */
  take(mark: number): Uint8Array {
    return this.#bytes.subarray(this.#at, this.#bytes.length - mark)
  }

  /** A byte string of checked hex with 0x. */
  hex(text: string): void {
    const bytes = (text.length - 2) / 2
    this.#reserve(bytes)
    this.#at -= bytes
    this.#bytes.write(text.slice(2), this.#at, bytes, 'hex')
    this.#closeString(bytes)
  }

  /** An integer of checked hex with 0x; of nothing, zero. */
  quantity(text: string | null | undefined): void {
    const digits = typeof text === 'string' ? digitsOf(text) : ''
    const bytes = digits.length / 2
    this.#reserve(bytes)
    this.#at -= bytes
    if (bytes > 0) this.#bytes.write(digits, this.#at, bytes, 'hex')
    this.#closeString(bytes)
  }

  bytes(item: Uint8Array): void {
    this.raw(item)
    this.#closeString(item.length)
  }

  /** Bytes as they are: an item that is encoded already. */
  raw(encoded: Uint8Array): void {
    this.#reserve(encoded.length)
    this.#at -= encoded.length
    this.#bytes.set(encoded, this.#at)
  }

  rawByte(byte: number): void {
    this.#reserve(1)
    this.#bytes[--this.#at] = byte
  }

  /** Makes a list of what was written since the mark. */
  closeList(mark: number): void {
    this.#head(SHORT_LIST, this.mark - mark)
  }

  #closeString(bytes: number): void {
    // A byte below 0x80 is its own encoding.
    if (bytes === 1 && (this.#bytes[this.#at] ?? 0) < SHORT_STRING) return
    this.#head(SHORT_STRING, bytes)
  }

  #head(short: number, bytes: number): void {
    if (bytes <= SHORT_BYTES_MAX) {
      this.rawByte(short + bytes)
      return
    }
    let lengthBytes = 0
    for (let rest = bytes; rest > 0; rest = Math.floor(rest / 256)) {
      this.rawByte(rest % 256)
      lengthBytes++
    }
    this.rawByte(short + SHORT_BYTES_MAX + lengthBytes)
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#at) return
    const written = this.mark
    const larger = Buffer.allocUnsafe(2 * (written + bytes) + FIRST_BYTES)
    larger.set(this.#bytes.subarray(this.#at), larger.length - written)
    this.#bytes = larger
    this.#at = larger.length - written
  }
}

/** Of an integer, as few pairs of digits as there can be. */
function digitsOf(text: string): string {
  let from = 2
  while (text[from] === '0') from++
  const digits = text.slice(from)
  return digits.length % 2 === 0 ? digits : `0${digits}`
}
