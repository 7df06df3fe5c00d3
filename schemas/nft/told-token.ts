// What `nft_token_told` has of a token, as JSON: who makes its rows writes it, and answers read it.

/** What its document says, where it was read; null: it does not say. */
export interface ToldDocument {
  readonly json: string | null
  readonly title: string | null
  readonly description: string | null
  readonly media: string | null
  readonly media_type: string | null
  readonly media_external: string | null
  /** JSON. */
  readonly attributes: string | null
  readonly read_sec: number
  /** Long texts are left out: they are in `whole`. */
  readonly is_cut?: boolean
}

/** How the last attempt to read it ended. */
export interface ToldState {
  readonly token_uri: string | null
  /** Null: it was read. */
  readonly error: string | null
  /** Since it was read last. */
  readonly attempts: number
  /** When its contract was asked. */
  readonly read_sec: number
  /** 0: it is not tried again by itself. */
  readonly retry_sec: number
}

/** Of a list of tokens, longer documents, media and attributes are left out: a page of them would be fifty megabytes. */
const LISTED_BYTES_MAX = 32_768
const LONG = ['json', 'media', 'media_external', 'attributes'] as const

/** A document as lists tell it: the same object where nothing is left out. */
export function listedDocument(document: ToldDocument): ToldDocument {
  const long = LONG.filter((name) => Buffer.byteLength(document[name] ?? '') > LISTED_BYTES_MAX)
  return long.length === 0
    ? document
    : { ...document, ...Object.fromEntries(long.map((name) => [name, null])), is_cut: true }
}
