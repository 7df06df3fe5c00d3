import { randomUUID } from 'node:crypto'
import { askJob } from '../../api/http/ask-job.ts'
import { gatewayName } from '../../infra/config/gateway.ts'
import { openEventLog, openJobQueue } from '../../infra/open-ports.ts'
import { type OrderBook, readOrderBook, stateAt, toOrderView } from '../../processors/users/order-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import type { OrderMove } from '../../schemas/events/orders.ts'
import { askOrders } from '../../schemas/jobs/ask-orders.ts'
import type { OrderView } from '../../schemas/jobs/ask-users.ts'
import { ORDER_DAYS_MAX } from '../../schemas/orders.ts'
import { nowSec, type Setting } from '../setting.ts'
import { checkedAccount } from './account-facts.ts'

/** So long an operator waits for the process that decides. */
const DECIDED_MS_MAX = 10_000
const WHOLE = /^\d{1,9}$/

/** Prints a line for each order, of one account if it is given. */
export async function listOrders(setting: Setting, account: string | undefined): Promise<void> {
  const of = account === undefined ? undefined : checkedAccount(account)
  const orders = (await readOrders(setting)).of(of).map((order) => toOrderView(order, Math.floor(nowSec())))
  setting.screen.print(orders.length === 0 ? 'There are no orders.\n' : `${orders.map(orderLine).join('\n')}\n`)
}

function orderLine({
  orderId,
  account,
  name,
  protocol,
  network,
  nodeType,
  location,
  days,
  ...order
}: OrderView): string {
  const { state, placedSec, movedSec, endsSec } = order
  return [
    ...[orderId, account, name === '' ? 'no name' : JSON.stringify(name)],
    ...[`${protocol}/${network}`, nodeType, location, `${days} days`],
    `${state} ${formatInstant(movedSec)}`,
    `ordered ${formatInstant(placedSec)}`,
    ...(endsSec === undefined ? [] : [`ends ${formatInstant(endsSec)}`]),
  ].join('  ')
}

/** Says that an order is paid, for as many days as it was for or for others. Throws AppError `usage` where it is not `ordered`. */
export async function acceptOrder(
  setting: Setting,
  orderId: string,
  { days }: { readonly days?: string } = {},
): Promise<void> {
  const paid = days === undefined ? undefined : checkedDays(days)
  const order = knownOrder(await readOrders(setting), orderId)
  const move = { orderId, to: 'accepted', days: paid ?? order.days } as const
  await takeStep(setting, move, `${orderId} was accepted for ${move.days} days.`)
}

function checkedDays(text: string): number {
  const days = Number(text)
  if (WHOLE.test(text) && days >= 1 && days <= ORDER_DAYS_MAX) return days
  throw new AppError(
    'usage',
    `--days is not a whole number from 1 to ${ORDER_DAYS_MAX}: ${JSON.stringify(text)}; the order was not accepted.`,
  )
}

/** Says that somebody works on its nodes. Throws AppError `usage` where it is not `accepted`. */
export async function provisionOrder(setting: Setting, orderId: string): Promise<void> {
  knownOrder(await readOrders(setting), orderId)
  await takeStep(setting, { orderId, to: 'provisioning' }, `${orderId} is being provided for.`)
}

/**
 * Has its paid time begin: its customer can make keys now. Throws AppError `usage` where it is not `provisioning`, and where the
 * configuration names no upstream of it.
 */
export async function startOrder(setting: Setting, orderId: string): Promise<void> {
  const order = knownOrder(await readOrders(setting), orderId)
  const { protocol, network } = order
  const isServed = setting.config.gateway.networks.some(
    (one) => one.order === orderId && one.protocol === protocol && one.network === network,
  )
  const place = gatewayName({ protocol, network, service: '' })
  // Of an order that does not come to run from where it is, that is what is said.
  if (!isServed && stateAt(order, nowSec()) === 'provisioning')
    throw new AppError(
      'usage',
      `${orderId} has no upstream of ${place}, which its calls would go to: name one below gateway.orders.${orderId} of the configuration; nothing was changed.`,
    )
  await takeStep(setting, { orderId, to: 'running' }, `${orderId} runs.`)
}

/** Ends an order; its keys stop working. Throws AppError `usage` for one that has ended. */
export async function cancelOrder(setting: Setting, orderId: string): Promise<void> {
  knownOrder(await readOrders(setting), orderId)
  await takeStep(setting, { orderId, to: 'cancelled' }, `${orderId} was cancelled; its keys work no more.`)
}

async function readOrders({ config, log, signal }: Setting): Promise<OrderBook> {
  await using eventLog = await openEventLog(config, log)
  return await readOrderBook(eventLog, signal) // before the log is closed
}

function knownOrder(orders: OrderBook, orderId: string) {
  const order = orders.get(orderId)
  if (order !== undefined) return order
  throw new AppError('usage', 'There is no order with this id, as admin order list tells them: nothing was changed.')
}

/** One process decides about orders (decision 48): it is asked. */
async function takeStep({ config, log, screen }: Setting, move: OrderMove, said: string): Promise<void> {
  await using jobs = await openJobQueue(config, log)
  const asked = { input: { requestId: randomUUID(), move }, timeoutMs: DECIDED_MS_MAX }
  const answer = await askJob({ jobs, wallNow: Date.now }, askOrders, asked)
  switch (answer?.status) {
    case 'done':
      screen.print(`${said}\n`)
      return
    case 'wrong-state':
      throw new AppError(
        'usage',
        `${move.orderId} is ${answer.state}, and does not come to ${move.to} from there: nothing was changed.`,
      )
    case 'no-order':
      throw new AppError('usage', 'There is no order with this id: nothing was changed.')
    case 'late':
    case undefined:
      throw new AppError(
        'usage',
        'Nobody decides about orders at the moment: the program, or its role users, has to run.',
      )
  }
}
