import { depthOf, isExactNumber, parseExactly } from './exact-json.ts'
import type { MetadataError } from './metadata-state.ts'
import { type Gateways, locate } from './token-uri.ts'

/** A document that is longer is none. */
export const DOCUMENT_BYTES_MAX = 512 * 1024
/** Arrays and objects in each other; collections have three. */
const DEPTH_MAX = 64

/** What a document says of its token; null what it does not say. */
export interface Metadata {
  readonly title: string | null
  readonly description: string | null
  /** Can be shown: http, https, or an image in itself, base64. */
  readonly media: string | null
  readonly mediaType: string | null
  /** As it is written, where it is of a scheme that a page may be given. */
  readonly mediaExternal: string | null
  /** JSON, its numbers as they are written; null where there are none. */
  readonly attributes: string | null
}

export type Document =
  /** `json`: the text that was read. */
  | { readonly status: 'read'; readonly json: string; readonly metadata: Metadata }
  /** Nothing of it is repeated: a stranger's server may say anything. */
  | { readonly status: 'unreadable'; readonly error: MetadataError }

const decoder = new TextDecoder() // a byte order mark is left out

/** Reads what a token's URI led to. Never throws. */
export function readDocument(bytes: Uint8Array, gateways: Gateways): Document {
  if (bytes.length > DOCUMENT_BYTES_MAX) return unreadable('TOO_LARGE')
  // Contracts pad what they build with zero bytes, which JSON has nowhere.
  const json = decoder.decode(bytes).replaceAll('\0', '').trim()
  if (!/^[[{"\d\-tfn]/.test(json)) return unreadable('NOT_JSON')
  if (depthOf(json) > DEPTH_MAX) return unreadable('TOO_LARGE')
  let value: unknown
  try {
    value = parseExactly(json)
  } catch {
    return unreadable('NOT_JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !/^\{/.test(json))
    return unreadable('NOT_AN_OBJECT')
  return { status: 'read', json, metadata: metadataOf(value as Fields, gateways) }
}

function unreadable(error: MetadataError): Document {
  return { status: 'unreadable', error }
}

type Fields = Readonly<Record<string, unknown>>

/** Where documents say what a token looks like, the plainest first. */
const MEDIA_FIELDS = ['image', 'image_url', 'imageUrl', 'image_data', 'animation_url'] as const

function metadataOf(fields: Fields, gateways: Gateways): Metadata {
  const written = MEDIA_FIELDS.map((field) => textOf(fields, field)).find((text) => text !== null && text.trim() !== '')
  const media = mediaOf(written ?? null, gateways)
  const attributes = Object.hasOwn(fields, 'attributes') ? fields.attributes : null
  return {
    title: textOf(fields, 'name') ?? textOf(fields, 'title'),
    description: textOf(fields, 'description'),
    ...media,
    attributes: attributes === null ? null : JSON.stringify(attributes),
  }
}

/** Text, or a number as it is written. */
function textOf(fields: Fields, field: string): string | null {
  const value = Object.hasOwn(fields, field) ? fields[field] : null
  if (typeof value === 'string') return value.toWellFormed()
  return isExactNumber(value) ? JSON.stringify(value) : null
}

type Media = Pick<Metadata, 'media' | 'mediaType' | 'mediaExternal'>

const NO_MEDIA: Media = { media: null, mediaType: null, mediaExternal: null }
const SVG = 'image/svg+xml'
const SAFE_INLINE = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)|video\/(?:mp4|webm)|audio\/(?:mpeg|wav|ogg))$/
/** What an image that only shows something has no use for: it is not handed on. */
const ACTIVE_SVG =
  /<\s*(?:script|foreignobject|iframe|embed|object|handler|set)\b|<!(?:doctype|entity)|\bon[a-z]+\s*=|javascript:|&#/i
const EXTENSIONS: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  svg: SVG,
  mp4: 'video/mp4',
  webm: 'video/webm',
  mp3: 'audio/mpeg',
}

/** Media that a page may be given, whatever it does with them: no scheme that runs anything, no quotes, no markup. */
export function mediaOf(written: string | null, gateways: Gateways): Media {
  if (written === null) return NO_MEDIA
  const text = written.trim()
  if (text.startsWith('<')) return inlineMedia(SVG, Buffer.from(text), null)
  const located = locate(text, gateways)
  switch (located.kind) {
    case 'nowhere':
      return NO_MEDIA
    case 'inline':
      return inlineMedia(located.type, located.bytes, written)
    case 'remote': {
      const [url = ''] = located.urls
      const extension = /\.(\w{2,5})$/.exec(URL.parse(url)?.pathname ?? '')?.[1]?.toLowerCase() ?? ''
      const mediaType = Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined
      return { media: url, mediaType: mediaType ?? null, mediaExternal: withoutMarkup(written) }
    }
  }
}

function inlineMedia(type: string, bytes: Uint8Array, written: string | null): Media {
  if (!SAFE_INLINE.test(type)) return NO_MEDIA
  if (type === SVG && isActive(bytes)) return NO_MEDIA
  const media = `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
  return { media, mediaType: type, mediaExternal: withoutMarkup(written) }
}

/** What would end the place in a page where it is put. */
function withoutMarkup(written: string | null): string | null {
  return written === null || /[<>"'`\p{Cc}]/u.test(written) ? null : written
}

function isActive(bytes: Uint8Array): boolean {
  const text = decoder.decode(bytes)
  // In another encoding than it was looked at it could be anything.
  return text.includes('\0') || text.includes('\ufffd') || ACTIVE_SVG.test(text)
}
