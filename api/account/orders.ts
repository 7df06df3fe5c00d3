import { TOKEN_NAME_PATTERN } from '../../schemas/access-token.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import type { OrderView } from '../../schemas/jobs/ask-users.ts'
import { LOCATION_PATTERN, ORDER_ID_PATTERN, VALIDATOR_PROTOCOLS } from '../../schemas/orders.ts'
import { networkOf, protocolOf } from '../../schemas/protocols/protocols.ts'
import {
  cancelOrderRoute,
  getOrderRoute,
  listOrdersRoute,
  placeOrderRoute,
} from '../../schemas/routes/account/orders.ts'
import { refuse } from '../../schemas/routes/envelope.ts'
import { nameRequest } from '../http/name-request.ts'
import { answer, answerPage, pageOffset } from '../http/operation.ts'
import { accountOperation } from './account.ts'
import { DONE, noSuchOrder, notLoggedIn, otherRequest, wrongState } from './answers.ts'

const NAME = new RegExp(TOKEN_NAME_PATTERN, 'u')
const LOCATION = new RegExp(LOCATION_PATTERN)
const ORDER_ID = new RegExp(ORDER_ID_PATTERN)

function toShown(order: OrderView) {
  const { orderId, name, protocol, network, nodeType, location, days, state, placedSec, movedSec, endsSec } = order
  return {
    ...{ order_id: orderId, name, blockchain: `${protocol}/${network}`, node_type: nodeType, location, days, state },
    ordered_at: formatInstant(placedSec),
    changed_at: formatInstant(movedSec),
    expires_at: endsSec === undefined ? null : formatInstant(endsSec),
  }
}

export const placeOrder = accountOperation(placeOrderRoute, async ({ body, headers, session }, accounts) => {
  const { name, blockchain, node_type: nodeType, location, days } = body
  if (!NAME.test(name)) return refuse('400', 'name has characters that cannot be printed')
  if (!LOCATION.test(location)) return refuse('400', 'location is not like eu-central: a-z, 0-9 and hyphens')
  const [protocolName = '', network = '', ...more] = blockchain.split('/')
  const protocol = protocolOf(protocolName)
  if (protocol === undefined || networkOf(protocol, network) === undefined || more.length > 0)
    return refuse('400', 'blockchain is none that there is, e.g. ethereum/mainnet', 'no_such_blockchain')
  if (nodeType === 'validator' && !VALIDATOR_PROTOCOLS.includes(protocol.name))
    return refuse(
      '400',
      `blockchain has no validators that are hosted here: node_type validator is for networks of ${VALIDATOR_PROTOCOLS.join(' and ')}`,
      'no_validators',
    )
  const named = nameRequest(headers)
  if (named.status === 'refused') return named
  const wanted = { name, protocol: protocol.name, network, nodeType, location, days }
  const asked = await accounts.ask({ kind: 'place-order', session, request: named.id, wanted })
  if (asked.status === 'other-request') return otherRequest()
  if (asked.status === 'too-many-orders')
    return refuse('400', 'the account has as many orders as it may, or placed too many today', 'too_many_orders')
  return asked.status === 'order' ? answer(toShown(asked.order)) : notLoggedIn()
})

export const listOrders = accountOperation(listOrdersRoute, async ({ query, session }, accounts) => {
  const { page, limit } = query
  const asked = await accounts.ask({ kind: 'list-orders', session, offset: pageOffset(query), limit })
  if (asked.status !== 'orders') return notLoggedIn()
  return answerPage(asked.orders.map(toShown), { page, limit, total: asked.total })
})

export const getOrder = accountOperation(getOrderRoute, async ({ params, session }, accounts) => {
  const orderId = params.order_id
  if (!ORDER_ID.test(orderId)) return noSuchOrder()
  const asked = await accounts.ask({ kind: 'find-order', session, orderId })
  if (asked.status === 'no-order') return noSuchOrder()
  return asked.status === 'order' ? answer(toShown(asked.order)) : notLoggedIn()
})

export const cancelOrder = accountOperation(cancelOrderRoute, async ({ params, session }, accounts) => {
  const orderId = params.order_id
  if (!ORDER_ID.test(orderId)) return noSuchOrder()
  const asked = await accounts.ask({ kind: 'cancel-order', session, orderId })
  if (asked.status === 'no-order') return noSuchOrder()
  if (asked.status === 'wrong-state') return wrongState(asked.state)
  return asked.status === 'done' ? DONE : notLoggedIn()
})
