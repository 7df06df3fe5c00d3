import { type Static, type TObject, type TSchema, Type } from 'typebox'

/** What stands before the paths of quotes: no chain and no token, a chain is configured for them. */
export const QUOTES_PREFIX = '/aggregator/api/v1'

/** One operation of the quotes, whatever its parameters and answer are. All of them are GET. */
export interface AnyQuoteRoute {
  readonly id: string
  /** Behind the prefix. */
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly query: TObject
  /** The whole successful answer: quotes have no envelope. */
  readonly response: TSchema
  readonly example: unknown
}

/** One operation: the value that validates requests, documents them and types their handlers. */
export interface QuoteRoute<Query extends TObject, Response extends TSchema> extends AnyQuoteRoute {
  readonly query: Query
  readonly response: Response
  readonly example: Static<Response>
}

/** Keeps the precise types of a route's parts. */
export function defineQuoteRoute<Query extends TObject, Response extends TSchema>(
  route: QuoteRoute<Query, Response>,
): QuoteRoute<Query, Response> {
  return route
}

/** Statuses beside 200, with the whole text of their bodies. */
export const QUOTE_FAILURES = {
  405: 'Invalid input',
  429: 'Too Many Requests',
  500: 'Server error',
  503: 'Service Unavailable',
} as const
export type QuoteFailure = keyof typeof QUOTE_FAILURES

/** An expected refusal: `reason` is a sentence, without a secret, that goes with it in a header. */
export interface QuoteRefusal {
  readonly status: 'refused'
  readonly httpStatus: QuoteFailure
  readonly reason: string
}

export function refuseQuote(httpStatus: QuoteFailure, reason: string): QuoteRefusal {
  return { status: 'refused', httpStatus, reason }
}

const SOURCE_CHARACTERS_MAX = 64

export const Source = Type.String({
  pattern: `^[\\x20-\\x7e]{1,${SOURCE_CHARACTERS_MAX}}$`,
  default: 'xxx',
  description: 'What the asker calls itself: questions of different sources get different validators.',
})

export const StakerAddress = Type.String({
  pattern: '^0[xX][0-9a-fA-F]{40}$',
  description: 'Who stakes and may unstake: 20 bytes, hex of one case or with the EIP-55 checksum.',
  examples: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'],
})

export const PercentText = Type.String({
  pattern: '^-?[0-9]+(\\.[0-9]{2})?%$',
  description: 'Percentage text.',
  examples: ['2.77%'],
})
