import { type Static, Type } from 'typebox'
import { TOKEN_NAME_PATTERN } from '../access-token.ts'
import { LOCATION_PATTERN, NODE_TYPES, ORDER_DAYS_MAX, ORDER_ID_PATTERN, ORDER_PAID_DAYS_MAX } from '../orders.ts'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent } from './codec.ts'
import { Instant } from './fields.ts'

export const OrderId = Type.String({ pattern: ORDER_ID_PATTERN })
export const OrderDays = Type.Integer({ minimum: 1, maximum: ORDER_DAYS_MAX })
/** Of one that may have been extended. */
export const PaidDays = Type.Integer({ minimum: 1, maximum: ORDER_PAID_DAYS_MAX })
/** As `schemas/protocols` has it. */
const PathName = Type.String({ pattern: '^[a-z0-9]{1,32}$' })

/** What is wanted. */
export const WantedFields = {
  /** What its customer tells it by. */
  name: Type.String({ pattern: TOKEN_NAME_PATTERN }),
  protocol: PathName,
  network: PathName,
  nodeType: Type.Enum([...NODE_TYPES]),
  location: Type.String({ pattern: LOCATION_PATTERN }),
  /** Of 24 hours, from when it begins to run. */
  days: OrderDays,
}
export const OrderFields = { orderId: OrderId, ...WantedFields }

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

const OrderExtended = Type.Object({
  orderId: OrderId,
  /** That are paid from when it began to run, those of before among them. */
  days: PaidDays,
  /** When these are over: what its keys work until, those too that were made before. */
  until: Instant,
})
export type OrderExtended = Static<typeof OrderExtended>

/** An account wants a node, or a validator, of its own (decision 48). Key: `ACCOUNTS_KEY`; id `account.order-placed:<order id>`. */
export const orderPlaced = jsonEvent({ name: 'account.order-placed', version: 1, topic: 'accounts' }, OrderPlaced)

/** It has come to a further step, each of them once; key `ACCOUNTS_KEY`, id `account.order-moved:<order id>:<step>`. */
export const orderMoved = jsonEvent({ name: 'account.order-moved', version: 1, topic: 'accounts' }, OrderMove)

/** It is paid for longer; key `ACCOUNTS_KEY`, id `account.order-extended:<order id>:<days>`. */
export const orderExtended = jsonEvent({ name: 'account.order-extended', version: 1, topic: 'accounts' }, OrderExtended)
