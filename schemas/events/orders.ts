import { type Static, Type } from 'typebox'
import { TOKEN_NAME_PATTERN } from '../access-token.ts'
import { LOCATION_PATTERN, NODE_TYPES, ORDER_DAYS_MAX, ORDER_ID_PATTERN } from '../orders.ts'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent } from './codec.ts'

export const OrderId = Type.String({ pattern: ORDER_ID_PATTERN })
export const OrderDays = Type.Integer({ minimum: 1, maximum: ORDER_DAYS_MAX })
/** As `schemas/protocols` has it. */
const PathName = Type.String({ pattern: '^[a-z0-9]{1,32}$' })

/** What is wanted. */
export const OrderFields = {
  orderId: OrderId,
  /** What its customer tells it by. */
  name: Type.String({ pattern: TOKEN_NAME_PATTERN }),
  protocol: PathName,
  network: PathName,
  nodeType: Type.Enum([...NODE_TYPES]),
  location: Type.String({ pattern: LOCATION_PATTERN }),
  /** Of 24 hours, from when it begins to run. */
  days: OrderDays,
}

const OrderPlaced = Type.Object({ account: Type.String({ pattern: ACCOUNT_PATTERN }), ...OrderFields })
export type OrderPlaced = Static<typeof OrderPlaced>

/** The step that an order takes. */
export const OrderMove = Type.Union([
  Type.Object({
    orderId: OrderId,
    to: Type.Literal('accepted'),
    /** That are paid. */
    days: OrderDays,
  }),
  Type.Object({ orderId: OrderId, to: Type.Enum(['provisioning', 'running', 'cancelled']) }),
])
export type OrderMove = Static<typeof OrderMove>

/** An account wants a node, or a validator, of its own (decision 48). Key: `ACCOUNTS_KEY`; id `account.order-placed:<order id>`. */
export const orderPlaced = jsonEvent({ name: 'account.order-placed', version: 1, topic: 'accounts' }, OrderPlaced)

/** It has come to a further step, each of them once; key `ACCOUNTS_KEY`, id `account.order-moved:<order id>:<step>`. */
export const orderMoved = jsonEvent({ name: 'account.order-moved', version: 1, topic: 'accounts' }, OrderMove)
