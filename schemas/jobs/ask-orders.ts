import { type Static, Type } from 'typebox'
import { UInt } from '../events/fields.ts'
import { OrderId, OrderMove, PaidDays } from '../events/orders.ts'
import { ORDER_STATES } from '../orders.ts'
import { OrderView } from './ask-users.ts'
import { answeringJob } from './job.ts'

const answered = <Status extends string>(status: Status) => Type.Object({ status: Type.Literal(status) })

const Answer = Type.Union([
  answered('done'),
  answered('no-order'),
  /** Its account is closed: nobody could use what it is for. */
  answered('closed'),
  /** It does not come to this step from how it stands. */
  Type.Object({ status: Type.Literal('wrong-state'), state: Type.Enum([...ORDER_STATES]) }),
  /** It is paid and not over, and nobody has agreed to that ending: how it stands, and how many keys it has. */
  Type.Object({ status: Type.Literal('paid'), order: OrderView, keys: UInt }),
  /** It would be over all the same, or is paid for as long already: so many days at least. */
  Type.Object({ status: Type.Literal('too-short'), daysMin: UInt }),
  /** Nobody waits for the answer any more: nothing was done. */
  answered('late'),
])
export type OrdersAnswer = Static<typeof Answer>

/** To be paid for so many days from when it began to run, those of before among them. */
const OrderExtension = Type.Object({ orderId: OrderId, to: Type.Literal('extended'), days: PaidDays })
export type OrderExtension = Static<typeof OrderExtension>

const Input = Type.Object({
  /** Of this asking: done twice, it comes to the same. */
  requestId: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
  move: Type.Union([OrderMove, OrderExtension]),
  /** Of one that is cancelled: also where it is paid. */
  evenPaid: Type.Optional(Type.Boolean()),
  /** Unix milliseconds on the machine of who asks. */
  notAfterMs: UInt,
})
export type AskOrdersInput = Static<typeof Input>

/** An operator has an order take a step: asks the one process that decides about people's accounts. */
export const askOrders = answeringJob('ask-orders', { input: Input, output: Answer }, ({ requestId }) => requestId)
