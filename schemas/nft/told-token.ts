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
  /** Members that are cut, or left out: whole they are in `whole`. */
  readonly shortened?: readonly string[]
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
  /** As of a document. */
  readonly shortened?: readonly string[]
}

// Of lists of tokens, for a page of whole texts would be a hundred megabytes.

/** Longer documents, media, attributes and URIs are left out: a piece of one is none. */
const LISTED_BYTES_MAX = 32_768
/** What people read is cut. */
const LISTED_TITLE_CHARACTERS_MAX = 1_000
const LISTED_DESCRIPTION_CHARACTERS_MAX = 4_000

type Shorten = (text: string) => string | null

const leaveOut: Shorten = (text) => (Buffer.byteLength(text) > LISTED_BYTES_MAX ? null : text)

/** Not in the middle of a character. */
const cutTo =
  (max: number): Shorten =>
  (text) =>
    text.length > max ? text.slice(0, max).replace(/[\ud800-\udbff]$/, '') : text

/** A document as lists tell it: the same object where nothing is shortened. */
export function listedDocument(document: ToldDocument): ToldDocument {
  return shortened(document, {
    ...{ json: leaveOut, media: leaveOut, media_external: leaveOut, attributes: leaveOut },
    ...{ title: cutTo(LISTED_TITLE_CHARACTERS_MAX), description: cutTo(LISTED_DESCRIPTION_CHARACTERS_MAX) },
  })
}

/** A state as lists tell it: the same object where nothing is shortened. */
export function listedState(state: ToldState): ToldState {
  return shortened(state, { token_uri: leaveOut })
}

function shortened<Told extends ToldDocument | ToldState>(told: Told, by: Readonly<Record<string, Shorten>>): Told {
  const short = Object.entries(by).flatMap(([name, shorten]) => {
    const text = told[name as keyof Told]
    const listed = typeof text === 'string' ? shorten(text) : text
    return listed === text ? [] : [[name, listed] as const]
  })
  return short.length === 0 ? told : { ...told, ...Object.fromEntries(short), shortened: short.map(([name]) => name) }
}
