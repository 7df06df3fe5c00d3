import type { Readable } from 'node:stream'
import { AppError } from '../../schemas/errors.ts'

// What statements write. It is there as a whole, or the statement has failed (`wait_end_of_query`): rows need no stream of their own, which takes
// longer to begin and to be forgotten than a few rows take to be read.

const LINE_FEED = 0x0a
const COMMA = 0x2c
/** Of rows that are one text at a time. */
const TEXT_BYTES = 1_048_576
const WORD_BYTES = 4
const LONG_BYTES = 8

/** All that a stream has. Rejects where it ends early, as it does when the signal aborts. */
export function bytesOf(stream: Readable, signal?: AbortSignal): Promise<Buffer> {
  const pieces: Buffer[] = []
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const early = (): void => reject(new Error('the result ended early'))
  const stop = (): void => void stream.destroy()
  stream.on('data', (piece: Buffer) => void pieces.push(piece))
  stream.on('end', () => resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)))
  stream.on('error', reject)
  stream.on('close', early)
  // It tells nothing any more.
  if (stream.closed) early()
  if (signal === undefined) return promise
  // The client hears of an abort until the answer begins.
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  return promise.finally(() => signal.removeEventListener('abort', stop))
}

/** Rows of the format JSONEachRow: a line each, and no line feed within one. The bytes are not whole afterwards. */
export function parseRows<Row>(bytes: Buffer): Row[] {
  const rows: Row[] = []
  for (let from = 0; from < bytes.length; ) {
    const to = endOfLines(bytes, from)
    for (let at = bytes.indexOf(LINE_FEED, from); at !== -1 && at < to - 1; at = bytes.indexOf(LINE_FEED, at + 1))
      bytes[at] = COMMA
    const some = JSON.parse(`[${bytes.toString('utf8', from, to)}]`) as Row[]
    if (from === 0 && to === bytes.length) return some
    for (const row of some) rows.push(row)
    from = to
  }
  return rows
}

/** Where a text of whole lines that begins there ends. */
function endOfLines(bytes: Buffer, from: number): number {
  if (bytes.length - from <= TEXT_BYTES) return bytes.length
  const feed = bytes.indexOf(LINE_FEED, from + TEXT_BYTES)
  return feed === -1 ? bytes.length : feed + 1
}

/** Rows of the format RowBinary, of whole words; they lie where longer ones may be read, too. */
export function toWords(bytes: Buffer): Uint32Array {
  if (bytes.length % WORD_BYTES !== 0)
    throw new AppError('warehouse', `The rows have ${bytes.length} bytes, which are no whole words.`)
  const words = bytes.length / WORD_BYTES
  const { buffer, byteOffset } = bytes
  // Bytes that are copied are twice the memory until the next full collection, which they bring nearer. A small part of others' memory is not kept.
  if (byteOffset % LONG_BYTES === 0 && bytes.length >= buffer.byteLength / 2)
    return new Uint32Array(buffer, byteOffset, words)
  const copied = new Uint32Array(words)
  new Uint8Array(copied.buffer).set(bytes)
  return copied
}
