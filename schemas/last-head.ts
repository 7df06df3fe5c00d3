/** Longer ones are read each time: one is kept for each connection. */
const KEPT_BYTES_MAX = 1024

/** What was read of a head of HTTP, and how long that is. */
interface KnownHead<Read> {
  readonly read: Read
  readonly bytes: number
}

/**
 * The last of a connection's heads, or of a peer's, and what was read of it: who asks, or answers, over and over sends the same bytes. A head
 * ends with its first empty line, so what begins with its bytes begins with that head.
 */
export class LastHead<Read> {
  #head: Buffer | undefined
  #known: KnownHead<Read> | undefined

  /** Undefined where the bytes begin with another head, or with a part of one. */
  of(bytes: Buffer): KnownHead<Read> | undefined {
    const head = this.#head
    if (head === undefined || bytes.length < head.length) return undefined
    return head.compare(bytes, 0, head.length) === 0 ? this.#known : undefined
  }

  /** Takes a copy of the head: it is the beginning of a larger buffer that would stay with it. */
  keep(head: Buffer, read: Read): void {
    if (head.length > KEPT_BYTES_MAX) return
    this.#head = Buffer.from(head)
    this.#known = { read, bytes: head.length }
  }
}
