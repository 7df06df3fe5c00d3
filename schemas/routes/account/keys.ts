import { type Static, Type } from 'typebox'
import { TOKEN_NAME_MAX } from '../../access-token.ts'
import { ALLOW_BYTES_MAX, AllowLists } from '../../allow-lists.ts'
import { DELETED_KEYS_MAX, DELETED_PER_DAY_MAX, KEYS_KEPT_MAX, KEYS_MAX } from '../../events/users.ts'
import { DoneEnvelope, envelopeOf, pagedEnvelopeOf } from '../envelope.ts'
import { Instant, Page } from '../fields.ts'
import { restricting } from '../restricting.ts'
import { Blockchain, DONE_EXAMPLE, defineAccountRoute, KeyId, ListLimit, OrderId } from './account-route.ts'

const OfKey = {
  key_id: KeyId,
  name: Type.String(),
  blockchain: Type.Union([Blockchain, Type.Null()], { description: 'Null: all of them.' }),
  allow: Type.Union([AllowLists, Type.Null()], {
    description: 'Null: from everywhere, for everything; or it is deleted, and its lists with it.',
  }),
  order_id: Type.Union([OrderId, Type.Null()], {
    description: 'The order whose nodes it is for; null: for those that all share.',
  }),
}
const CreatedKey = Type.Object(
  {
    ...OfKey,
    key: Type.String({ description: 'What stands in the path of every call; told this once.' }),
  },
  { additionalProperties: false },
)
const ListedKey = Type.Object(
  {
    ...OfKey,
    created_at: Type.String({ format: 'date-time' }),
    deleted_at: { ...Instant, description: 'Null of one that is not deleted.' },
    is_working: Type.Boolean({
      description:
        'False for less than a second after its creation, where an operator has revoked it, and when its order is over.',
    }),
  },
  { additionalProperties: false },
)
export type ListedKey = Static<typeof ListedKey>

const EXAMPLE = {
  key_id: '3f786850e387',
  name: 'wallet',
  blockchain: 'ethereum/mainnet',
  allow: { ips: ['203.0.113.0/24'] },
  order_id: null,
}

export const createKeyRoute = defineAccountRoute({
  id: 'createKey',
  method: 'POST',
  path: '/keys',
  summary: 'Make an API key',
  description:
    `The key reads, of one blockchain or of all, and works within a second. An account has at most ${KEYS_MAX} keys, besides those of orders that are over, and ${KEYS_KEPT_MAX} with them; where ${DELETED_PER_DAY_MAX} were deleted within a day, there is no further one until the day is over. \`allow\` is what it may be ` +
    `used from (\`origins\`, \`ips\`: everywhere) and for (\`methods\`, \`contracts\`: calls of the gateway), for as long as it is there, ${ALLOW_BYTES_MAX} bytes in all; else there is \`403\`, ` +
    'with the reason `origin`, `address` or `contract`, or the method. With `order_id` it is a key of an order that runs, for its blockchain and its nodes alone, and works ' +
    'until that is over. `400` with the reason `no_such_blockchain`, `too_many_keys`, `too_many_deleted`, `allow_not_valid` or `wrong_state`, `404` with the reason `no_such_order`.',
  ofSession: true,
  body: Type.Object(
    {
      name: Type.String({ maxLength: TOKEN_NAME_MAX, default: '', description: 'What you tell it by.' }),
      blockchain: Type.Optional(restricting(Blockchain)),
      allow: Type.Optional(restricting(AllowLists)),
      order_id: Type.Optional(restricting(OrderId)),
    },
    { additionalProperties: false },
  ),
  response: envelopeOf(CreatedKey),
  refusals: ['400', '401', '429'],
  example: { code: '200', msg: 'Success', data: { ...EXAMPLE, key: 'mZb0oGqB3F2tq1l7dM0wJmC0d4p0cS6X' } },
})

export const listKeysRoute = defineAccountRoute({
  id: 'listKeys',
  method: 'GET',
  path: '/keys',
  summary: 'API keys of the account',
  description: `In the order in which they were made; of those that were deleted the newest ${DELETED_KEYS_MAX}, the last one first. The keys themselves are nowhere.`,
  ofSession: true,
  query: Type.Object(
    {
      state: Type.Enum(['present', 'deleted'], { default: 'present', description: 'Which keys.' }),
      page: Page,
      limit: ListLimit,
    },
    { additionalProperties: false },
  ),
  response: pagedEnvelopeOf(Type.Array(ListedKey)),
  refusals: ['400', '401', '429'],
  example: {
    code: '200',
    msg: 'Success',
    data: [{ ...EXAMPLE, created_at: '2026-11-20T04:00:00.000Z', deleted_at: null, is_working: true }],
    pagination: { page: 1, limit: 100, total: 1 },
  },
})

export const deleteKeyRoute = defineAccountRoute({
  id: 'deleteKey',
  method: 'DELETE',
  path: '/keys/{key_id}',
  summary: 'Delete an API key',
  description: 'It stops working within a second, for good. `404` with the reason `no_such_key`.',
  ofSession: true,
  params: Type.Object({ key_id: KeyId }),
  response: DoneEnvelope,
  refusals: ['400', '401', '429'],
  example: DONE_EXAMPLE,
})
