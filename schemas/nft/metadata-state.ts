/** Why there is no metadata, or not all of it. */
export const METADATA_ERRORS = [
  'NO_TOKEN_URI', // the contract names no document
  'CALL_REVERTED', // the contract does not answer
  'UNSUPPORTED_SCHEME', // what it names is neither http, https, ipfs, ar nor data
  'BLOCKED_ADDRESS', // it leads to an address that is not public, or cannot be followed without harm
  'TIMEOUT',
  'UNREACHABLE', // no name, no connection, or one that broke
  'HTTP_STATUS', // the server answered, and not with a document
  'TOO_LARGE', // or nested too deep
  'NOT_JSON',
  'NOT_AN_OBJECT', // JSON, of which no field can be read
] as const
export type MetadataError = (typeof METADATA_ERRORS)[number]

/** How it stands about the metadata of a token: what is told beside it. */
export interface MetadataState {
  readonly status: 'pending' | 'ok' | 'failed'
  readonly error: MetadataError | null
  /** Since it was there last. */
  readonly attempts: number
  /** Unix seconds; null before the first. */
  readonly lastAttempt: number | null
  /** Unix seconds; null where nothing is to be tried again: it is there, or nobody has tried yet. */
  readonly nextRetry: number | null
}

/** These pass by themselves: a server that is away, a document that is not there yet. */
const PASSING: ReadonlySet<MetadataError> = new Set<MetadataError>(['TIMEOUT', 'UNREACHABLE', 'HTTP_STATUS'])
const PASSING_FIRST_SEC = 30
const PASSING_MAX_SEC = 86_400
/** What only its contract or its owner changes is looked at again all the same, seldom. */
const LASTING_FIRST_SEC = 3_600
const LASTING_MAX_SEC = 7 * 86_400

/** How long to wait after so many attempts (1, 2, …) have ended with this error. There is no last attempt. */
export function retryDelaySec(error: MetadataError, attempts: number): number {
  const [first, max] = PASSING.has(error) ? [PASSING_FIRST_SEC, PASSING_MAX_SEC] : [LASTING_FIRST_SEC, LASTING_MAX_SEC]
  return Math.min(first * 2 ** (attempts - 1), max)
}
