import { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

/** Where a list goes on: behind which key, as of which block. */
export interface PageKey {
  readonly start: number
  readonly number: number
  readonly hash: string
  /** The last sort key of the page before. */
  readonly after: readonly string[]
}

/** What a page key is for: nothing of it may change from page to page. */
export interface PageOf {
  readonly secret: string
  readonly chain: string
  readonly operation: string
  /** What the parameters mean, without what tells one page from another. */
  readonly filter: string
}

const SIGNATURE_BYTES = 12
const HASH = /^[0-9a-f]{64}$/

/** Opaque text that `readPageKey` takes for the same list alone. */
export function formatPageKey(of: PageOf, { start, number, hash, after }: PageKey): string {
  const body = Buffer.from(JSON.stringify([start, number, hash.slice(2), ...after]))
  return Buffer.concat([signature(of, body), body]).toString('base64url')
}

/** Undefined where it was not made by `formatPageKey` for this list. */
export function readPageKey(of: PageOf, text: string): PageKey | undefined {
  const bytes = Buffer.from(text, 'base64url')
  const body = bytes.subarray(SIGNATURE_BYTES)
  if (bytes.length <= SIGNATURE_BYTES || bytes.toString('base64url') !== text) return undefined
  if (!timingSafeEqual(bytes.subarray(0, SIGNATURE_BYTES), signature(of, body))) return undefined
  // Signed: it is what was written.
  const [start, number, hash, ...after] = JSON.parse(body.toString()) as [number, number, string, ...string[]]
  return { start, number, hash: `0x${hash}`, after }
}

/** The block that a page key says it is of, whatever it is for and whoever made it; undefined where it is none. */
export function blockOfPageKey(text: string): Omit<PageKey, 'after'> | undefined {
  try {
    const body: unknown = JSON.parse(Buffer.from(text, 'base64url').subarray(SIGNATURE_BYTES).toString())
    const [start, number, hash] = Array.isArray(body) ? body : []
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(number) || number < 0 || !HASH.test(hash))
      return undefined
    return { start, number, hash: `0x${hash}` }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** That of the secret that was asked for last: a program has one. */
let known: { readonly secret: string; readonly key: KeyObject } | undefined

function keyOf(secret: string): KeyObject {
  if (known?.secret !== secret)
    known = { secret, key: createSecretKey(createHash('sha256').update(`page key ${secret}`).digest()) }
  return known.key
}

function signature({ secret, chain, operation, filter }: PageOf, body: Buffer): Buffer {
  const mac = createHmac('sha256', keyOf(secret))
    .update(JSON.stringify([chain, operation, filter]))
    .update(body)
  return mac.digest().subarray(0, SIGNATURE_BYTES)
}
