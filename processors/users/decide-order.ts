import type { TokenOrder } from '../../schemas/access-token.ts'
import { chainNames } from '../../schemas/chains.ts'
import { DAY_SEC, formatInstant } from '../../schemas/eth/time.ts'
import type { OrderMove } from '../../schemas/events/orders.ts'
import type { OrdersAnswer } from '../../schemas/jobs/ask-orders.ts'
import type { AskUsers, OrderView } from '../../schemas/jobs/ask-users.ts'
import {
  isOver,
  ORDERS_LISTED_MAX,
  ORDERS_OPEN_MAX,
  ORDERS_PER_DAY_MAX,
  type OrderState,
} from '../../schemas/orders.ts'
import type { Decision } from './decide.ts'
import { type Order, type OrderBook, stateAt, toOrderView } from './order-book.ts'

/** From which states a step leads on: the operator's. */
const BEFORE: Readonly<Record<OrderMove['to'], readonly OrderState[]>> = {
  accepted: ['ordered'],
  provisioning: ['accepted'],
  running: ['provisioning'],
  cancelled: ['ordered', 'accepted', 'provisioning', 'running'],
}
/** Until somebody works on it, its customer may think better of it; from then on that is between the two. */
const CUSTOMER_CANCELS: readonly OrderState[] = ['ordered', 'accepted']

/** Of a step: `done`, or why it is not taken. */
interface MoveDecision extends Decision {
  readonly answer: OrdersAnswer
}

type Place = Extract<AskUsers, { readonly kind: 'place-order' }>

export function placeOrder(
  orders: OrderBook,
  account: string,
  { kind, session, ...fields }: Place,
  nowSec: number,
): Decision {
  const known = orders.get(fields.orderId)
  // An id is random: this is the same asking once more.
  if (known !== undefined) return { answer: { status: 'order', order: toOrderView(known, nowSec) } }
  const all = orders.of(account)
  const open = all.filter((order) => !isOver(stateAt(order, nowSec)))
  const recent = all.filter(({ placedSec }) => placedSec > nowSec - DAY_SEC)
  if (open.length >= ORDERS_OPEN_MAX || recent.length >= ORDERS_PER_DAY_MAX)
    return { answer: { status: 'too-many-orders' } }
  const placed = { account, ...fields }
  const order: OrderView = { ...placed, state: 'ordered', placedSec: nowSec, movedSec: nowSec }
  return { answer: { status: 'order', order }, placed }
}

/** Those that are open first, then the newest. */
export function listOrders(orders: OrderBook, account: string, nowSec: number): Decision {
  const views = orders
    .of(account)
    .map((order) => toOrderView(order, nowSec))
    .toReversed()
  const [open, over] = [views.filter(({ state }) => !isOver(state)), views.filter(({ state }) => isOver(state))]
  return { answer: { status: 'orders', orders: [...open, ...over].slice(0, ORDERS_LISTED_MAX) } }
}

export function cancelOwnOrder(orders: OrderBook, account: string, orderId: string, nowSec: number): Decision {
  const order = orders.get(orderId)
  // What others have ordered is not there.
  if (order?.account !== account) return { answer: { status: 'no-order' } }
  return move(order, { orderId, to: 'cancelled' }, { nowSec, from: CUSTOMER_CANCELS })
}

/** Takes the step of an operator. A key works until its order is over, so a cancelled one's are revoked. */
export function moveOrder(orders: OrderBook, step: OrderMove, nowSec: number): MoveDecision {
  const order = orders.get(step.orderId)
  if (order === undefined) return { answer: { status: 'no-order' } }
  return move(order, step, { nowSec, from: BEFORE[step.to] })
}

function move(
  order: Order,
  step: OrderMove,
  { nowSec, from }: { readonly nowSec: number; readonly from: readonly OrderState[] },
): MoveDecision {
  const state = stateAt(order, nowSec)
  const isTaken = state === step.to && (step.to !== 'accepted' || step.days === order.days)
  // Asked twice, it comes to the same.
  if (isTaken) return { answer: { status: 'done' } }
  if (!from.includes(state)) return { answer: { status: 'wrong-state', state } }
  const revoked = step.to === 'cancelled' ? [...order.keys].map((tokenHash) => ({ tokenHash })) : []
  return { answer: { status: 'done' }, moved: [step], revoked }
}

/** The steps that end an account's orders with it. */
export function cancelAll(orders: OrderBook, account: string, nowSec: number): readonly OrderMove[] {
  return orders
    .of(account)
    .filter((order) => !isOver(stateAt(order, nowSec)))
    .map(({ orderId }) => ({ orderId, to: 'cancelled' }))
}

/** What a key of an order is for; or why there can be none. */
export function keyLimitsOf(
  orders: OrderBook,
  account: string,
  orderId: string,
  nowSec: number,
): { readonly chain: string; readonly order: TokenOrder } | Decision['answer'] {
  const order = orders.get(orderId)
  if (order?.account !== account) return { status: 'no-order' }
  const state = stateAt(order, nowSec)
  if (state !== 'running' || order.endsSec === undefined) return { status: 'wrong-state', state }
  return {
    chain: chainNames(order.protocol, order.network).name,
    order: { id: orderId, until: formatInstant(order.endsSec) },
  }
}
