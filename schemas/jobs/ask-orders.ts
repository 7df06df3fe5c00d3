import { type Static, Type } from 'typebox'
import { UInt } from '../events/fields.ts'
import { OrderMove } from '../events/orders.ts'
import { ORDER_STATES } from '../orders.ts'
import { answeringJob } from './job.ts'

const answered = <Status extends string>(status: Status) => Type.Object({ status: Type.Literal(status) })

const Answer = Type.Union([
  answered('done'),
  answered('no-order'),
  /** It does not come to this step from how it stands. */
  Type.Object({ status: Type.Literal('wrong-state'), state: Type.Enum([...ORDER_STATES]) }),
  /** Nobody waits for the answer any more: nothing was done. */
  answered('late'),
])
export type OrdersAnswer = Static<typeof Answer>

const Input = Type.Object({
  /** Of this asking: done twice, it comes to the same. */
  requestId: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
  move: OrderMove,
  /** Unix milliseconds on the machine of who asks. */
  notAfterMs: UInt,
})
export type AskOrdersInput = Static<typeof Input>

/** An operator has an order take a step: asks the one process that decides about people's accounts. */
export const askOrders = answeringJob('ask-orders', { input: Input, output: Answer }, ({ requestId }) => requestId)
