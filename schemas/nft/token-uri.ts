import type { TokenStandard } from '../eth/nft-transfers.ts'
import type { MetadataError } from './metadata-state.ts'

/** Where what is addressed by its content is asked for: prefixes of URLs, each with a slash at its end, the first one first. */
export interface Gateways {
  readonly ipfs: readonly string[]
  readonly arweave: readonly string[]
}

/** What a URI leads to. */
export type Located =
  /** It is in the URI itself. */
  | { readonly kind: 'inline'; readonly type: string; readonly bytes: Uint8Array }
  /** At any of these addresses, http or https; never empty. */
  | { readonly kind: 'remote'; readonly urls: readonly string[] }
  | { readonly kind: 'nowhere'; readonly error: MetadataError }

/** A document with an image in it takes some ten thousand. */
export const URI_CHARACTERS_MAX = 512 * 1024
/** Of an address: what the guard takes. */
const URL_CHARACTERS_MAX = 8_192
const TYPE_CHARACTERS_MAX = 100
/** 64 digits: a word. */
const ID_DIGITS = 64
const DEFAULT_TYPE = 'text/plain'

// A CID of version 0 is base58 of a SHA-256, one of version 1 mostly base32.
const CID = `(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|b[a-z2-7]{50,120}|z[1-9A-HJ-NP-Za-km-z]{40,120}|f[0-9a-f]{60,140})`
const BARE_CID = new RegExp(`^/?(?:ipfs/)*(${CID}(?:[/?#].*)?)$`, 's')
const IPFS_SCHEME = /^ipfs:\/*(?:ipfs\/+)*(.*)$/is
/** A server's way to the same: the content is what its address says, whoever hands it out. */
const GATEWAY_URL = new RegExp(`^https?://[^/?#]+/ipfs/(${CID}(?:[/?#].*)?)$`, 'is')
const ARWEAVE_SCHEME = /^ar:\/*(.*)$/is
const ARWEAVE_ID = /^[\w-]{43}(?:[/?#]|$)/
const IPFS_CONTENT = /^[\w-]{20,200}(?:[/?#]|$)/
const HTTP = /^https?:\/\//i
const DATA = /^data:/i

/** A URI as it is meant for one token: of ERC-1155 `{id}` stands for 64 lower-case hex digits. */
export function uriOfToken(uri: string, standard: TokenStandard, tokenId: bigint): string {
  if (standard !== 'ERC1155') return uri
  return uri.replaceAll(/\{id\}|%7Bid%7D/gi, tokenId.toString(16).padStart(ID_DIGITS, '0'))
}

/** What a token's URI, or that of its media, leads to. Never throws: contracts return whatever they like. */
export function locate(text: string, gateways: Gateways): Located {
  if (text.length > URI_CHARACTERS_MAX) return nowhere('TOO_LARGE')
  const uri = trimmed(text)
  if (uri === '') return nowhere('NO_TOKEN_URI')
  if (DATA.test(uri)) return readDataUri(uri)
  if (uri.length > URL_CHARACTERS_MAX) return nowhere('TOO_LARGE')
  const bare = BARE_CID.exec(uri)?.[1] ?? IPFS_SCHEME.exec(uri)?.[1]
  if (bare !== undefined) return byContent(bare, IPFS_CONTENT, gateways.ipfs)
  const arweave = ARWEAVE_SCHEME.exec(uri)?.[1]
  if (arweave !== undefined) return byContent(arweave, ARWEAVE_ID, gateways.arweave)
  if (!HTTP.test(uri)) return nowhere('UNSUPPORTED_SCHEME')
  const direct = URL.parse(uri)?.href
  if (direct === undefined) return nowhere('UNSUPPORTED_SCHEME')
  const content = GATEWAY_URL.exec(uri)?.[1]
  const found = content === undefined ? undefined : byContent(content, IPFS_CONTENT, gateways.ipfs)
  return { kind: 'remote', urls: found?.kind === 'remote' ? [...new Set([...found.urls, direct])] : [direct] }
}

/** Without blanks and zero bytes at its ends. By index: an expression would go over a run of them in its middle once for each of them. */
function trimmed(text: string): string {
  let [from, to] = [0, text.length]
  while (from < to && isBlank(text.charAt(from))) from++
  while (from < to && isBlank(text.charAt(to - 1))) to--
  return text.slice(from, to)
}

function isBlank(character: string): boolean {
  return character === '\0' || character.trim() === ''
}

function nowhere(error: MetadataError): Located {
  return { kind: 'nowhere', error }
}

/** A step up would lead to what a gateway has beside its content. */
const STEPS = /(?:^|[/\\])(?:\.|%2e){1,2}(?:$|[/\\?#])|\\/i

function byContent(path: string, form: RegExp, prefixes: readonly string[]): Located {
  if (!form.test(path) || prefixes.length === 0) return nowhere('UNSUPPORTED_SCHEME')
  // Encoded once more it would be a step for a server that decodes twice.
  if (STEPS.test(path) || STEPS.test(path.replaceAll(/%2f/gi, '/').replaceAll(/%5c/gi, '\\')))
    return nowhere('BLOCKED_ADDRESS')
  // Names of files have it in them, and nothing of content is named behind it.
  const escaped = path.replaceAll('#', '%23')
  const urls = prefixes.flatMap((prefix) => URL.parse(`${prefix}${escaped}`)?.href ?? [])
  return urls.length === 0 ? nowhere('UNSUPPORTED_SCHEME') : { kind: 'remote', urls }
}

/** RFC 2397, as contracts write it: without escaping, `#` included. */
function readDataUri(uri: string): Located {
  const comma = uri.indexOf(',')
  if (comma === -1) return nowhere('UNSUPPORTED_SCHEME')
  const [type = '', ...parameters] = uri.slice('data:'.length, comma).split(';')
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')
  const data = unescaped(uri.slice(comma + 1))
  const bytes = isBase64 ? Buffer.from(Buffer.from(data).toString('latin1'), 'base64') : data
  const told = type.trim().toLowerCase()
  return {
    kind: 'inline',
    type: told === '' || told.length > TYPE_CHARACTERS_MAX ? DEFAULT_TYPE : told,
    bytes: new Uint8Array(bytes),
  }
}

/** A percent sign that begins no escape stands for itself. */
function unescaped(text: string): Uint8Array {
  if (!text.includes('%')) return Buffer.from(text)
  const parts: Uint8Array[] = []
  let from = 0
  for (const { index } of text.matchAll(/%[0-9a-f]{2}/gi)) {
    parts.push(
      Buffer.from(text.slice(from, index)),
      Uint8Array.of(Number.parseInt(text.slice(index + 1, index + 3), 16)),
    )
    from = index + 3
  }
  parts.push(Buffer.from(text.slice(from)))
  return Buffer.concat(parts)
}
