import { type Static, Type } from 'typebox'
import { USAGE_DAYS_KEPT } from '../../tables/usage.ts'
import { pagedEnvelopeOf } from '../envelope.ts'
import { Limit, Page } from '../fields.ts'
import { Blockchain, defineAccountRoute, KeyId } from './account-route.ts'

/** What rows of usage can be told apart by. */
export const USAGE_PARTS = ['key', 'blockchain', 'method', 'status'] as const
export type UsagePart = (typeof USAGE_PARTS)[number]

/** Days that one question may be about. */
export const USAGE_DAYS_MAX = { minute: 1, hour: 31, day: USAGE_DAYS_KEPT, all: USAGE_DAYS_KEPT } as const

const METHOD_CHARACTERS_MAX = 256

const Query = Type.Object(
  {
    from: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Its minute is the first one; the beginning of today (UTC+8) unless told.',
      }),
    ),
    to: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Instant behind the last, whose minute counts as a whole; now unless told.',
      }),
    ),
    step: Type.Enum(Object.keys(USAGE_DAYS_MAX) as (keyof typeof USAGE_DAYS_MAX)[], {
      default: 'day',
      description: 'What one row sums up: a minute, an hour, a day of the service (UTC+8), or all of it.',
    }),
    by: Type.Array(Type.Enum([...USAGE_PARTS]), {
      default: [],
      maxItems: USAGE_PARTS.length,
      description: 'What has rows of its own.',
    }),
    key_id: Type.Optional(KeyId),
    blockchain: Type.Optional(Blockchain),
    method: Type.Optional(
      Type.String({
        maxLength: METHOD_CHARACTERS_MAX,
        description: 'A method, or verb and path as `GET#/eth/v1/node/syncing`.',
      }),
    ),
    status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599, description: 'HTTP’s.' })),
    page: Page,
    limit: Limit,
  },
  { additionalProperties: false },
)
export type UsageQuery = Static<typeof Query>

const Count = (description: string) => Type.Integer({ minimum: 0, description })

const UsageItem = Type.Object(
  {
    time: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the minute, hour or day begins; null for all of them.',
    }),
    key_id: Type.Union([KeyId, Type.Null()], { description: 'Null where rows are not by it, as for the next three.' }),
    blockchain: Type.Union([Blockchain, Type.Null()]),
    method: Type.Union([Type.String(), Type.Null()]),
    status: Type.Union([Type.Integer(), Type.Null()], {
      description: 'HTTP’s, of each call of a batch or a WebSocket too; 499: the client left before the answer.',
    }),
    calls: Count('Each of a batch is one.'),
    billed: Count('What they have cost of the plan.'),
    success_rate: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
      description: 'Of calls, those with a status below 400. Null without calls, as the next two.',
    }),
    average_ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()]),
    p99_ms: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
      description: 'No more than one call of a hundred took longer; at most half more than the true one.',
    }),
    request_bytes: Count('Of bodies.'),
    answer_bytes: Count(
      'Of bodies, and of what was pushed; with headers where an answer of REST, GraphQL or NFT does not tell its length, as of CSV.',
    ),
    pushes: Count('Messages over WebSocket that nobody has asked for then.'),
  },
  { additionalProperties: false },
)
export type UsageItem = Static<typeof UsageItem>

export const usageRoute = defineAccountRoute({
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  summary: 'What the keys of the account were used for',
  description:
    'Calls of all services, in the order of time. A call counts in the minute in which it was taken of the plan, and is here some seconds after its ' +
    `answer. \`other\` is the method of calls that cannot be read, and of those of a key that names more methods in a minute than are told apart. Kept for ${USAGE_DAYS_KEPT} days; one question is about a ` +
    `day by minutes, ${USAGE_DAYS_MAX.hour} days by hours. \`400\` with the reason \`period_not_valid\`.`,
  ofSession: true,
  query: Query,
  response: pagedEnvelopeOf(Type.Array(UsageItem)),
  refusals: ['400', '401', '429'],
  example: {
    code: '200',
    msg: 'Success',
    data: [
      {
        ...{ time: '2026-11-19T16:00:00.000Z', key_id: '3f786850e387', blockchain: 'ethereum/mainnet' },
        ...{ method: 'eth_call', status: 200, calls: 1_204, billed: 1_204, success_rate: 1 },
        ...{ average_ms: 18.4, p99_ms: 96, request_bytes: 240_800, answer_bytes: 1_926_400, pushes: 0 },
      },
    ],
    pagination: { page: 1, limit: 10, total: 1 },
  },
})
