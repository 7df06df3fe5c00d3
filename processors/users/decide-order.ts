import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { TokenOrder } from '../../schemas/access-token.ts'
import { chainNames } from '../../schemas/chains.ts'
import { DAY_SEC, formatInstant } from '../../schemas/eth/time.ts'
import type { OrderMove } from '../../schemas/events/orders.ts'
import type { AskOrdersInput, OrderExtension, OrdersAnswer } from '../../schemas/jobs/ask-orders.ts'
import type { AskUsers, OrderView } from '../../schemas/jobs/ask-users.ts'
import { isOver, ORDER_ID_BYTES, ORDERS_OPEN_MAX, ORDERS_PER_DAY_MAX, type OrderState } from '../../schemas/orders.ts'
import type { Books, Decision } from './decide.ts'
import { canExtend, type Order, type OrderBook, stateAt, toOrderView } from './order-book.ts'

/** From which states a step leads on: the operator's. */
const BEFORE: Readonly<Record<OrderMove['to'], readonly OrderState[]>> = {
  accepted: ['ordered'],
  provisioning: ['accepted'],
  running: ['provisioning'],
  // An expired one, too: no extension follows then.
  cancelled: ['ordered', 'accepted', 'provisioning', 'running', 'expired'],
}
/** Until somebody works on it, its customer may think better of it; from then on that is between the two. */
const CUSTOMER_CANCELS: readonly OrderState[] = ['ordered', 'accepted']

/** What has been paid for ends with it. */
const PAID: readonly OrderState[] = ['accepted', 'provisioning', 'running']

/** Of what an operator asks: `done`, or why it is not. */
type OperatorDecision = Omit<Decision, 'answer'> & { readonly answer: OrdersAnswer }
type MoveDecision = Decision & OperatorDecision

type Place = Extract<AskUsers, { readonly kind: 'place-order' }>
type List = Extract<AskUsers, { readonly kind: 'list-orders' }>

export function placeOrder(orders: OrderBook, account: string, { request, wanted }: Place, nowSec: number): Decision {
  const orderId = orderIdOf(account, request)
  const known = orders.get(orderId)
  if (known !== undefined) {
    // The same asking once more: it is answered with what has become of it.
    const isSame = isDeepStrictEqual(known.placed, { account, orderId, ...wanted })
    return { answer: isSame ? { status: 'order', order: toOrderView(known, nowSec) } : { status: 'other-request' } }
  }
  const all = orders.of(account)
  const open = all.filter((order) => !isOver(stateAt(order, nowSec)))
  const recent = all.filter(({ placedSec }) => placedSec > nowSec - DAY_SEC)
  if (open.length >= ORDERS_OPEN_MAX || recent.length >= ORDERS_PER_DAY_MAX)
    return { answer: { status: 'too-many-orders' } }
  const placed = { account, orderId, ...wanted }
  const order: OrderView = { ...placed, state: 'ordered', placedSec: nowSec, movedSec: nowSec }
  return { answer: { status: 'order', order }, placed }
}

/** One request of an account is one order, whoever is asked for it, and however often. */
export function orderIdOf(account: string, request: string): string {
  return `ord_${hash('sha256', JSON.stringify([account, request]), 'hex').slice(0, 2 * ORDER_ID_BYTES)}`
}

/** Those that are open first, then the newest. */
export function listOrders(
  orders: OrderBook,
  account: string,
  { offset, limit }: Pick<List, 'offset' | 'limit'>,
  nowSec: number,
): Decision {
  const views = orders
    .of(account)
    .map((order) => toOrderView(order, nowSec))
    .toReversed()
  const [open, over] = [views.filter(({ state }) => !isOver(state)), views.filter(({ state }) => isOver(state))]
  const listed = [...open, ...over].slice(offset, offset + limit)
  return { answer: { status: 'orders', orders: listed, total: views.length } }
}

export function findOrder(orders: OrderBook, account: string, orderId: string, nowSec: number): Decision {
  const order = orders.get(orderId)
  // What others have ordered is not there.
  if (order?.account !== account) return { answer: { status: 'no-order' } }
  return { answer: { status: 'order', order: toOrderView(order, nowSec) } }
}

export function cancelOwnOrder(orders: OrderBook, account: string, orderId: string, nowSec: number): Decision {
  const order = orders.get(orderId)
  if (order?.account !== account) return { answer: { status: 'no-order' } }
  return move(order, { orderId, to: 'cancelled' }, { nowSec, from: CUSTOMER_CANCELS })
}

/**
 * Takes the step of an operator. A key works until its order is over, so a cancelled one's are revoked. An order whose account is closed
 * can only be cancelled. Whether it is paid is judged here, as it stands now: what the operator has seen may be over.
 */
export function moveOrder(
  { book, orders }: Books,
  { move: step, evenPaid = false }: Pick<AskOrdersInput, 'move' | 'evenPaid'>,
  nowSec: number,
): OperatorDecision {
  const order = orders.get(step.orderId)
  if (order === undefined) return { answer: { status: 'no-order' } }
  if (step.to !== 'cancelled' && !book.hasAccount(order.account)) return { answer: { status: 'closed' } }
  if (step.to === 'extended') return extend(order, step, nowSec)
  if (step.to === 'cancelled' && !evenPaid && PAID.includes(stateAt(order, nowSec)))
    return { answer: { status: 'paid', order: toOrderView(order, nowSec), keys: order.keys.size } }
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

/** The days go on from those that are paid, also where they were over for a while: it has stood as long. */
function extend(order: Order, { orderId, days }: OrderExtension, nowSec: number): OperatorDecision {
  const state = stateAt(order, nowSec)
  const { endsSec } = order
  if (!canExtend(order, nowSec) || endsSec === undefined) return { answer: { status: 'wrong-state', state } }
  // Asked twice, it comes to the same.
  if (state === 'running' && days === order.days) return { answer: { status: 'done' } }
  const beganSec = endsSec - order.days * DAY_SEC
  const daysMin = Math.max(order.days, Math.floor((nowSec - beganSec) / DAY_SEC)) + 1
  if (days < daysMin) return { answer: { status: 'too-short', daysMin } }
  const until = formatInstant(beganSec + days * DAY_SEC)
  return { answer: { status: 'done' }, extended: { orderId, days, until } }
}

/** The steps that end an account's orders with it. */
export function cancelAll(orders: OrderBook, account: string, nowSec: number): readonly OrderMove[] {
  return orders
    .of(account)
    .filter((order) => !isOver(stateAt(order, nowSec)))
    .map(({ orderId }) => ({ orderId, to: 'cancelled' }))
}

/** Whether an order of the log is over. */
export function isOverAt(orders: OrderBook, orderId: string, nowSec: number): boolean {
  const order = orders.get(orderId)
  return order !== undefined && isOver(stateAt(order, nowSec))
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
