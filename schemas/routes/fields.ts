import { Type } from 'typebox'

export const PAGE_DEFAULT = 1
/** Keeps page * limit below 2^53. */
export const PAGE_MAX = 1_000_000_000
export const LIMIT_DEFAULT = 10
export const LIMIT_MAX = 1_000
/** Public keys or indices that one request may name. */
export const LISTED_VALIDATORS_MAX = 1_000
/** Highest index that the warehouse stores (UInt32). */
const VALIDATOR_INDEX_MAX = 4_294_967_295

export const Page = Type.Integer({
  minimum: 1,
  maximum: PAGE_MAX,
  default: PAGE_DEFAULT,
  description: 'Page, counted from 1.',
})
export const Limit = Type.Integer({
  minimum: 1,
  maximum: LIMIT_MAX,
  default: LIMIT_DEFAULT,
  description: 'Items per page.',
})

/** Of the text that stands for a place in a list. */
const CURSOR_CHARACTERS_MAX = 512
export const Cursor = Type.Optional(
  Type.String({
    maxLength: CURSOR_CHARACTERS_MAX,
    description:
      '`next_cursor` of the answer before: the list goes on behind its last item, whatever has come since. It is for the ' +
      'same account and the same question, whose `limit` may differ; in place of `page`.',
  }),
)
export const NextCursor = Type.Union([Type.String({ maxLength: CURSOR_CHARACTERS_MAX }), Type.Null()], {
  description: '`cursor` of the items behind these; null where none are.',
})

/** A public key as whoever asks may write it. */
export const AskedPubkey = Type.String({
  pattern: '^(0[xX])?[0-9a-fA-F]{96}$',
  description: '48 bytes, hex in any case, with or without 0x.',
  examples: [`0x${'a1'.repeat(48)}`],
})

/** `x-error-code` is the envelope code of a wrong value, where it is not 400. */
const dateOptions = { format: 'date', 'x-error-code': '4001' } as const
export const StartDate = Type.String({
  ...dateOptions,
  description: 'First day, UTC+8, `YYYY-MM-DD`, not after today.',
  examples: ['2023-07-01'],
})
export const EndDate = Type.String({
  ...dateOptions,
  description: 'Day after the last one, UTC+8, `YYYY-MM-DD`, not after today.',
  examples: ['2023-07-02'],
})
/** Where a day begins, for those who do not count by UTC+8. */
export const AskedUtcOffset = Type.String({
  pattern: '^[+-]\\d{2}:[0-5]\\d$',
  description:
    'Days of another offset from UTC than `+08:00`, by quarters of an hour from `-12:00` to `+14:00` (a `+` is `%2B` in an address). ' +
    'The dates of the question and of the answer are by it, and so are its today and yesterday.',
  examples: ['+05:45'],
})
/** A single day. */
export const AskedDate = Type.String({
  ...dateOptions,
  description: 'Day, UTC+8, `YYYY-MM-DD`, before today.',
  examples: ['2023-07-01'],
})

export const ValidatorIndex = Type.Integer({ minimum: 0, maximum: VALIDATOR_INDEX_MAX })
export const PubkeyText = Type.String({ pattern: '^0x[0-9a-f]{96}$', description: '48 bytes, lower-case hex.' })
/** `meaning` is a sentence of whose address it is. */
export function addressText(meaning: string) {
  return Type.String({
    pattern: '^0x[0-9a-fA-F]{40}$',
    description: `${meaning} 20 bytes, hex with the EIP-55 checksum.`,
  })
}
/** An exact amount; `meaning` is a sentence of what it is an amount of. */
export function ethText(meaning: string) {
  return Type.String({
    pattern: '^-?(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$',
    description: `${meaning} Exact ETH as decimal text without trailing zeros.`,
  })
}
export const EpochText = Type.String({
  pattern: '^[0-9]{1,20}$',
  description: 'Epoch as decimal text; 18446744073709551615 means not set.',
})
/** Null where it is not known: a client that reads dates takes that, and no empty text. */
export const Instant = Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
  description: 'ISO 8601 instant in UTC with milliseconds, or null.',
})

/** What some operation, or a field of GraphQL, filters its rows by: no other takes such a name for nothing. */
export const FILTERS = [
  'start_date',
  'end_date',
  'from',
  'to',
  'date',
  'month',
  'utc_offset',
  'pubkey',
  'pubkeys',
  'validator_indexes',
  'withdrawal_address',
  'label',
  'kind',
  'status',
  'statuses',
] as const

/** By what operations of NFTs, GraphQL and other APIs page and order a list: who asks for its next part must not get the first one again. */
export const PAGINGS = ['offset', 'order', 'page_size', 'max_count', 'page_key', 'first', 'after'] as const

/** What filters and pages are called here that other operations, and GraphQL, call otherwise. */
export const NAMES_ELSEWHERE: Readonly<Record<string, string>> = {
  from: 'start_date',
  to: 'end_date',
  start_date: 'from',
  end_date: 'to',
  offset: 'page',
  page_size: 'limit',
  max_count: 'limit',
  first: 'limit',
  page_key: 'cursor',
  after: 'cursor',
}
