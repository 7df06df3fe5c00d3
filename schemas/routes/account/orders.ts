import { Type } from 'typebox'
import { TOKEN_NAME_MAX } from '../../access-token.ts'
import {
  NODE_TYPES,
  ORDER_DAYS_MAX,
  ORDER_STATES,
  ORDERS_OPEN_MAX,
  ORDERS_PER_DAY_MAX,
  VALIDATOR_PROTOCOLS,
} from '../../orders.ts'
import { DoneEnvelope, envelopeOf, pagedEnvelopeOf } from '../envelope.ts'
import { Page } from '../fields.ts'
import { idempotencyHeaders } from '../idempotency-key.ts'
import { Blockchain, DONE_EXAMPLE, defineAccountRoute, ListLimit, OrderId } from './account-route.ts'

const NodeType = Type.Enum([...NODE_TYPES], {
  description: `\`full\` has the newest states, \`archive\` all of them; \`validator\` is a hosted validator, of ${VALIDATOR_PROTOCOLS.join(' and ')} alone.`,
})
const Days = Type.Integer({
  minimum: 1,
  maximum: ORDER_DAYS_MAX,
  description: 'Of 24 hours each, from when it begins to run.',
})
const Location = Type.String({
  maxLength: 32,
  description: 'Where it is to stand: lower-case letters, digits and hyphens.',
  examples: ['eu-central'],
})
const NullableInstant = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description })

const Order = Type.Object(
  {
    order_id: OrderId,
    name: Type.String(),
    blockchain: Blockchain,
    node_type: NodeType,
    location: Location,
    days: Type.Integer({ description: 'That were asked for; from `accepted` on, that are paid.' }),
    state: Type.Enum([...ORDER_STATES]),
    ordered_at: Type.String({ format: 'date-time' }),
    changed_at: Type.String({
      format: 'date-time',
      description: 'When it came to its state; of one that was extended after it had expired, when that was.',
    }),
    expires_at: NullableInstant('Null of one that does not run yet, or was cancelled.'),
  },
  { additionalProperties: false },
)
const EXAMPLE = {
  order_id: 'ord_5f2b8c1d9e3a4f60',
  name: 'indexer',
  blockchain: 'ethereum/mainnet',
  node_type: 'archive',
  location: 'eu-central',
  days: 90,
  state: 'ordered',
  ordered_at: '2026-11-20T04:00:00.000Z',
  changed_at: '2026-11-20T04:00:00.000Z',
  expires_at: null,
} as const

export const placeOrderRoute = defineAccountRoute({
  id: 'placeOrder',
  method: 'POST',
  path: '/orders',
  summary: 'Order a dedicated node or a hosted validator',
  description:
    'An operator accepts it, provides for it and has it run: then `POST /keys` makes keys of it by its `order_id`. Calls with such a key go to its nodes ' +
    `alone, and those of nobody else do. An account has at most ${ORDERS_OPEN_MAX} orders that are not over, and places ${ORDERS_PER_DAY_MAX} a day. ` +
    'With an `Idempotency-Key` header the same request is answered with the same order, whatever has become of it, so that it can be sent again; another ' +
    'request with the same key is refused. `400` with the reason `no_such_blockchain`, `no_validators`, `too_many_orders` or `other_request`.',
  ofSession: true,
  headers: idempotencyHeaders('account'),
  body: Type.Object(
    {
      name: Type.String({ maxLength: TOKEN_NAME_MAX, default: '', description: 'What you tell it by.' }),
      blockchain: Blockchain,
      node_type: NodeType,
      location: Location,
      days: Days,
    },
    { additionalProperties: false },
  ),
  response: envelopeOf(Order),
  refusals: ['400', '401', '429'],
  example: { code: '200', msg: 'Success', data: EXAMPLE },
})

export const listOrdersRoute = defineAccountRoute({
  id: 'listOrders',
  method: 'GET',
  path: '/orders',
  summary: 'Orders of the account',
  description: 'Those that are not over first, then the newest.',
  ofSession: true,
  query: Type.Object({ page: Page, limit: ListLimit }, { additionalProperties: false }),
  response: pagedEnvelopeOf(Type.Array(Order)),
  refusals: ['400', '401', '429'],
  example: {
    code: '200',
    msg: 'Success',
    data: [
      { ...EXAMPLE, state: 'running', changed_at: '2026-11-21T04:00:00.000Z', expires_at: '2027-02-19T04:00:00.000Z' },
    ],
    pagination: { page: 1, limit: 100, total: 1 },
  },
})

export const getOrderRoute = defineAccountRoute({
  id: 'getOrder',
  method: 'GET',
  path: '/orders/{order_id}',
  summary: 'An order of the account',
  description: '`404` with the reason `no_such_order`.',
  ofSession: true,
  params: Type.Object({ order_id: OrderId }),
  response: envelopeOf(Order),
  refusals: ['401', '429'],
  example: { code: '200', msg: 'Success', data: EXAMPLE },
})

export const cancelOrderRoute = defineAccountRoute({
  id: 'cancelOrder',
  method: 'POST',
  path: '/orders/{order_id}/cancel',
  summary: 'Cancel an order',
  description:
    'Of one that nobody provides for yet (`ordered`, `accepted`); later it is for the operator. `400` with the reason `wrong_state`, `404` with the reason `no_such_order`.',
  ofSession: true,
  params: Type.Object({ order_id: OrderId }),
  response: DoneEnvelope,
  refusals: ['400', '401', '429'],
  example: DONE_EXAMPLE,
})
