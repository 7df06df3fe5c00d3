import { randomUUID } from 'node:crypto'
import { askJob } from '../../api/http/ask-job.ts'
import { gatewayName } from '../../infra/config/gateway.ts'
import { openEventLog, openJobQueue } from '../../infra/open-ports.ts'
import { readLogFacts } from '../../processors/loop/log-facts.ts'
import {
  canExtend,
  type Order,
  type OrderBook,
  readOrderBook,
  stateAt,
  toOrderView,
} from '../../processors/users/order-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { type AskOrdersInput, askOrders } from '../../schemas/jobs/ask-orders.ts'
import type { OrderView } from '../../schemas/jobs/ask-users.ts'
import {
  ORDER_DAYS_MAX,
  ORDER_EXTENDED_AFTER_DAYS_MAX,
  ORDER_ID_PATTERN,
  ORDER_PAID_DAYS_MAX,
  type OrderState,
} from '../../schemas/orders.ts'
import { configuredNetworks } from '../gateway-config.ts'
import { nowSec, type Setting } from '../setting.ts'
import { checkedAccount, readAccountBook } from './account-facts.ts'
import { knownAccount } from './known-account.ts'
import { findUnwell } from './unwell-nodes.ts'

/** So long an operator waits for the process that decides. */
const DECIDED_MS_MAX = 10_000
const ORDER_ID = new RegExp(ORDER_ID_PATTERN)
const WHOLE = /^\d{1,9}$/

/** Prints a line for each order, of one account or in one state if it is given. Throws AppError `usage` for an account that nobody has made. */
export async function listOrders(
  setting: Setting,
  { account, state }: { readonly account?: string; readonly state?: OrderState } = {},
): Promise<void> {
  const of = account === undefined ? undefined : checkedAccount(account)
  const all = (await readOrders(setting)).of(of).map((order) => toOrderView(order, Math.floor(nowSec())))
  if (of !== undefined && all.length === 0) knownAccount(await readAccountBook(setting), of)
  const orders = all.filter((order) => state === undefined || order.state === state)
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
  const paid = days === undefined ? (await readOrder(setting, orderId)).days : checkedDays(days, ORDER_DAYS_MAX)
  await takeStep(
    setting,
    { move: { orderId, to: 'accepted', days: paid } },
    `${orderId} was accepted for ${paid} days.`,
  )
}

function checkedDays(text: string, daysMax: number): number {
  const days = Number(text)
  if (WHOLE.test(text) && days >= 1 && days <= daysMax) return days
  throw new AppError(
    'usage',
    `--days is not a whole number from 1 to ${daysMax}: ${JSON.stringify(text)}; nothing was changed.`,
  )
}

/** Says that somebody works on its nodes. Throws AppError `usage` where it is not `accepted`. */
export async function provisionOrder(setting: Setting, orderId: string): Promise<void> {
  await takeStep(setting, { move: { orderId, to: 'provisioning' } }, `${orderId} is being provided for.`)
}

/**
 * Has its paid time begin: its customer can make keys now. Throws AppError `usage` where it is not `provisioning`, where the configuration
 * names no upstream of it, and, but with `force`, where none of those that it names is well, as they are asked from here.
 */
export async function startOrder(
  setting: Setting,
  orderId: string,
  { force = false }: { readonly force?: boolean } = {},
): Promise<void> {
  const order = await readOrder(setting, orderId)
  // Of an order that does not come to run from where it is, that is what is said.
  if (stateAt(order, nowSec()) === 'provisioning') await checkNodes(setting, order, { force, does: 'starts' })
  await takeStep(setting, { move: { orderId, to: 'running' } }, `${orderId} runs.`)
}

async function checkNodes(
  setting: Setting,
  { orderId, protocol, network }: Order,
  { force, does }: { readonly force: boolean; readonly does: 'starts' | 'extends' },
): Promise<void> {
  const networks = configuredNetworks(setting.config).filter(
    (one) => one.order === orderId && one.protocol === protocol && one.network === network,
  )
  if (networks.length === 0)
    throw new AppError(
      'usage',
      `${orderId} has no upstream of ${gatewayName({ protocol, network, service: '' })}, which its calls would go to: name one below gateway.orders.${orderId} of the configuration; nothing was changed.`,
    )
  if (force) return
  await using eventLog = await openEventLog(setting.config, setting.log)
  const facts = await readLogFacts(eventLog, setting.signal)
  // Asked from here they are nobody's in particular.
  const unwell = await findUnwell(
    networks.map(({ order: _, ...network }) => network),
    { ...setting, secret: facts?.logId ?? '' },
  )
  if (unwell.length === 0) return
  const named = unwell.map(({ name, upstreams }) => {
    const faults = upstreams.map(({ id, fault }) => `node ${id}: ${fault}`)
    return `${name} (${faults.join('; ')})`
  })
  throw new AppError(
    'usage',
    `${orderId} has no node that is well of ${named.join(' and of ')}; --force ${does} it all the same. Nothing was changed.`,
  )
}

/**
 * Says that an order is paid for longer: for `days` from when it began to run. Its keys work as much longer. Throws AppError `usage`
 * where it neither runs nor has expired a short while ago, for days that are over already, and where its nodes would not have it start.
 */
export async function extendOrder(
  setting: Setting,
  orderId: string,
  { days: text, force = false }: { readonly days: string; readonly force?: boolean },
): Promise<void> {
  const days = checkedDays(text, ORDER_PAID_DAYS_MAX)
  const order = await readOrder(setting, orderId)
  // As with a start; nor are nodes asked for days that are no more than it has.
  if (canExtend(order, nowSec()) && days > order.days) await checkNodes(setting, order, { force, does: 'extends' })
  await takeStep(setting, { move: { orderId, to: 'extended', days } }, `${orderId} is paid for ${days} days in all.`)
}

/**
 * Ends an order for good; its keys stop working. Throws AppError `usage` where it is paid and that was not said with `yes`: the sentence
 * names what would end.
 */
export async function cancelOrder(
  setting: Setting,
  orderId: string,
  { yes = false }: { readonly yes?: boolean } = {},
): Promise<void> {
  const step = { move: { orderId, to: 'cancelled' }, evenPaid: yes } as const
  await takeStep(setting, step, `${orderId} was cancelled; its keys work no more.`)
}

async function readOrders({ config, log, signal }: Setting): Promise<OrderBook> {
  await using eventLog = await openEventLog(config, log)
  return await readOrderBook(eventLog, log, signal) // before the log is closed
}

/** For what the role's answers do not say: how many days it was for, and which network its calls go to. */
async function readOrder(setting: Setting, orderId: string): Promise<Order> {
  const order = (await readOrders(setting)).get(orderId)
  if (order === undefined) throw noOrder()
  return order
}

function noOrder(): AppError {
  return new AppError('usage', 'There is no order with this id, as admin order list tells them: nothing was changed.')
}

/** One process decides about orders (decision 48): it is asked. */
async function takeStep(
  { config, log, screen }: Setting,
  step: Pick<AskOrdersInput, 'move' | 'evenPaid'>,
  said: string,
): Promise<void> {
  const { move } = step
  if (!ORDER_ID.test(move.orderId)) throw noOrder() // no question that the role would take
  await using jobs = await openJobQueue(config, log)
  const asked = { input: { requestId: randomUUID(), ...step }, timeoutMs: DECIDED_MS_MAX }
  const answer = await askJob({ jobs, wallNow: Date.now }, askOrders, asked)
  switch (answer?.status) {
    case 'done':
      screen.print(`${said}\n`)
      return
    case 'wrong-state':
      throw new AppError('usage', `${move.orderId} is ${answer.state}${refusedStep(move.to)}: nothing was changed.`)
    case 'paid':
      throw new AppError(
        'usage',
        [
          orderLine(answer.order),
          `It is paid. Cancelled it has ended for good, and its keys (${answer.keys}) work no more.`,
          'Say --yes to cancel it; nothing was changed.',
        ].join('\n'),
      )
    case 'closed':
      throw new AppError(
        'usage',
        `The account of ${move.orderId} was closed, so nobody could use the order: nothing was changed.`,
      )
    case 'too-short':
      throw new AppError(
        'usage',
        `--days counts from when ${move.orderId} began to run, and has to be ${answer.daysMin} or more for it to run longer: nothing was changed.`,
      )
    case 'no-order':
      throw noOrder()
    case 'late':
    case undefined:
      throw new AppError(
        'usage',
        'Nobody decides about orders at the moment: the program, or its role users, has to run.',
      )
  }
}

function refusedStep(to: AskOrdersInput['move']['to']): string {
  if (to !== 'extended') return `, and does not come to ${to} from there`
  return `; only one that is running, or expired less than ${ORDER_EXTENDED_AFTER_DAYS_MAX} days ago, can be extended`
}
