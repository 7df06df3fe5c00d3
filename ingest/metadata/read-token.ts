import type { CallAnswer, ContractNode } from '../../infra/ports/contract-node.ts'
import type { PublicAnswer, PublicFetch } from '../../infra/ports/public-fetch.ts'
import { chainKey } from '../../schemas/chains.ts'
import { decodeText, tokenUriCall } from '../../schemas/eth/contract-calls.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import type { TokenStandard } from '../../schemas/eth/nft-transfers.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { tokenNotRead, tokenRead } from '../../schemas/events/nft-metadata.ts'
import { DOCUMENT_BYTES_MAX, type Metadata, mediaOf, readDocument } from '../../schemas/nft/document.ts'
import { type MetadataError, retryDelaySec } from '../../schemas/nft/metadata-state.ts'
import { type Gateways, type Located, locate, URI_CHARACTERS_MAX, uriOfToken } from '../../schemas/nft/token-uri.ts'

/** A document, from all gateways together; and what its media are. */
const DOCUMENT_MS_MAX = 10_000
const MEDIA_MS_MAX = 3_000
const REDIRECTS_MAX = 5
/** What may be a document, also of servers that call everything so. */
const DOCUMENT_TYPES = /^$|json|^text\/(?!html)|octet-stream/
const HTTP = /^\s*https?:/i
const MEDIA_TYPE = /^[a-z]{1,20}\/[a-z0-9][a-z0-9.+-]{0,80}$/

export interface Reading {
  readonly node: ContractNode
  readonly fetch: PublicFetch
  /** Whether an http or https URL may be of the public internet, as far as it says so itself: what does not is handed on to nobody. */
  readonly mayBePublic: (url: string) => boolean
  readonly gateways: Gateways
  /** Unix seconds. */
  readonly now: () => number
}

export interface TokenQuestion {
  readonly chain: string
  readonly contract: string
  /** 32 bytes, lower-case hex. */
  readonly tokenId: string
  readonly standard: TokenStandard
  /** That have failed since it was read last. */
  readonly attempts: number
  /** Somebody has asked: that it fails says nothing of how seldom it is to be tried by itself. */
  readonly isAsked?: boolean
  /** Nobody saw it moved: it is not tried again by itself, or anybody could have us ask for ever for what is not there. */
  readonly isUnseen?: boolean
}

type Ended =
  | { readonly status: 'read'; readonly json: string; readonly metadata: Metadata }
  | { readonly status: 'failed'; readonly error: MetadataError }

export interface TokenAnswer {
  readonly event: EncodedEvent
  readonly blockNumber: number
  /** A server, or the call itself, has kept us waiting to the end. */
  readonly isLate: boolean
}

/** Asks for the document of a token; what became of it is an event. Throws AppError of a node fault. */
export async function readToken(reading: Reading, question: TokenQuestion): Promise<TokenAnswer> {
  const { chain, contract, tokenId, standard, attempts } = question
  const data = tokenUriCall(standard, bytesOf(tokenId))
  const { block, answers } = await reading.node.call([{ to: contract, data }])
  const [answer] = answers
  if (answer === undefined) throw new Error('each call has an answer')
  const tokenUri = answer.status === 'returned' ? (decodeText(answer.data) ?? null) : null
  const ended: Ended =
    answer.status !== 'returned'
      ? failed(CALL_ERRORS[answer.status])
      : tokenUri === null
        ? failed('NO_TOKEN_URI')
        : await documentAt(reading, uriOfToken(tokenUri, standard, BigInt(tokenId)))
  const atSec = reading.now()
  const place = `${chain}:${contract}:${tokenId}:${block.hash}:${atSec}`
  const envelope = { key: chainKey(chain, contract), time: formatInstant(block.timeSec) }
  const told = {
    ...{ chain, contract, tokenId, atSec },
    block: { number: block.number, hash: block.hash },
    tokenUri: tokenUri === null || tokenUri.length > URI_CHARACTERS_MAX ? null : tokenUri,
  }
  if (ended.status === 'read') {
    const { json, metadata } = ended
    const id = `${tokenRead.name}:${place}`
    const event = encodeEvent(tokenRead, { id, ...envelope, data: { ...told, json, ...metadata } })
    return { event, blockNumber: block.number, isLate: false }
  }
  const { error } = ended
  const failedAttempts = question.isAsked === true ? Math.max(attempts, 1) : attempts + 1
  const nextRetrySec = question.isUnseen === true ? 0 : atSec + retryDelaySec(error, failedAttempts)
  const ends = { error, attempts: failedAttempts, nextRetrySec }
  const id = `${tokenNotRead.name}:${place}`
  const event = encodeEvent(tokenNotRead, { id, ...envelope, data: { ...told, ...ends } })
  return { event, blockNumber: block.number, isLate: error === 'TIMEOUT' }
}

const CALL_ERRORS = {
  reverted: 'CALL_REVERTED',
  too_large: 'TOO_LARGE',
  timed_out: 'TIMEOUT',
} as const satisfies Record<Exclude<CallAnswer['status'], 'returned'>, MetadataError>

function failed(error: MetadataError): Ended {
  return { status: 'failed', error }
}

async function documentAt(reading: Reading, uri: string): Promise<Ended> {
  const located = locate(uri, reading.gateways)
  const found = located.kind === 'remote' ? await fetched(reading, located) : located
  if (found.kind === 'nowhere') return failed(found.error)
  const document = readDocument(found.bytes, reading.gateways)
  if (document.status === 'unreadable') return failed(document.error)
  const { json, metadata } = document
  return { status: 'read', json, metadata: await withMediaType(reading, vetted(reading, metadata)) }
}

/** The first of the addresses that answers with a document. */
async function fetched(
  { fetch }: Reading,
  { urls }: Extract<Located, { kind: 'remote' }>,
): Promise<Exclude<Located, { kind: 'remote' }>> {
  let error: MetadataError = 'UNREACHABLE'
  const endMs = performance.now() + DOCUMENT_MS_MAX
  for (const [place, url] of urls.entries()) {
    const leftMs = Math.floor((endMs - performance.now()) / (urls.length - place))
    if (leftMs <= 0) break
    const answer = await fetch.fetch({
      url,
      method: 'GET',
      headers: { accept: 'application/json, */*;q=0.5', 'user-agent': 'epochline' },
      bytesMax: DOCUMENT_BYTES_MAX,
      timeoutMs: leftMs,
      redirectsMax: REDIRECTS_MAX,
      plainHttp: true,
      types: DOCUMENT_TYPES,
    })
    if (answer.status === 'answered' && answer.httpStatus === 200)
      return { kind: 'inline', type: answer.type, bytes: answer.body }
    error = errorOf(answer)
  }
  return { kind: 'nowhere', error }
}

function errorOf(answer: PublicAnswer): MetadataError {
  switch (answer.status) {
    case 'answered':
      return 'HTTP_STATUS'
    case 'failed':
      return answer.isLate ? 'TIMEOUT' : 'UNREACHABLE'
    case 'refused':
      return REFUSALS[answer.kind]
  }
}

const REFUSALS = {
  url: 'BLOCKED_ADDRESS',
  address: 'BLOCKED_ADDRESS',
  redirects: 'BLOCKED_ADDRESS',
  size: 'TOO_LARGE',
  type: 'NOT_JSON',
} as const satisfies Record<string, MetadataError>

/** Whoever shows media asks for them from where they are: in a network of ours, that may be what no stranger could ask. */
function vetted({ mayBePublic }: Pick<Reading, 'mayBePublic'>, metadata: Metadata): Metadata {
  const { media, mediaExternal } = metadata
  const isKept = (url: string | null): boolean => url === null || !HTTP.test(url) || mayBePublic(url)
  if (!isKept(media)) return { ...metadata, ...mediaOf(null, NOWHERE) }
  // A gateway may stand for the server that is written.
  return isKept(mediaExternal) ? metadata : { ...metadata, mediaExternal: null }
}

/** What the server of the media says they are, where their name does not. */
async function withMediaType({ fetch }: Reading, metadata: Metadata): Promise<Metadata> {
  const { media, mediaType } = metadata
  if (media === null || mediaType !== null || !HTTP.test(media)) return metadata
  const answer = await fetch.fetch({
    ...{ url: media, method: 'HEAD', headers: { 'user-agent': 'epochline' } },
    ...{ bytesMax: 0, timeoutMs: MEDIA_MS_MAX, redirectsMax: REDIRECTS_MAX, plainHttp: true },
  })
  // Nothing of this process is asked for by whoever shows the media, and nobody is sent to where it was not allowed to look.
  if (answer.status === 'refused') return { ...metadata, ...mediaOf(null, NOWHERE) }
  if (answer.status !== 'answered' || answer.httpStatus !== 200) return metadata
  const type = answer.type.split(';')[0]?.trim().toLowerCase() ?? ''
  return MEDIA_TYPE.test(type) && type !== 'text/html' ? { ...metadata, mediaType: type } : metadata
}

const NOWHERE: Gateways = { ipfs: [], arweave: [] }
