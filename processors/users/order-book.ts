import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { DAY_SEC } from '../../schemas/eth/time.ts'
import { tokenCreated, tokenRevoked } from '../../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { type OrderPlaced, orderExtended, orderMoved, orderPlaced } from '../../schemas/events/orders.ts'
import type { OrderView } from '../../schemas/jobs/ask-users.ts'
import { ORDER_EXTENDED_AFTER_DAYS_MAX, type OrderState, type OrderStep } from '../../schemas/orders.ts'
import { readFacts } from '../read-facts.ts'

/** What the log has of an order. Seconds are Unix's. */
export interface Order extends OrderPlaced {
  /** As it was asked for. */
  readonly placed: OrderPlaced
  readonly step: OrderStep
  readonly placedSec: number
  /** Of the newest step, or of the extension of one that had expired. */
  readonly movedSec: number
  /** When what was paid is over; undefined before it runs. */
  readonly endsSec?: number
  /** Hashes of its keys that nobody has revoked. */
  readonly keys: ReadonlySet<string>
}

/** Orders of all accounts, by the facts of the topic `accounts`; what else is told there is passed over. */
export class OrderBook {
  readonly #orders = new Map<string, Order>()
  /** Ids, by their accounts. */
  readonly #byAccount = new Map<string, Set<string>>()
  /** Ids, by the hashes of their keys. */
  readonly #byKey = new Map<string, string>()

  /** Throws AppError `undecodable` for an event that is not what its type says. */
  add(event: EncodedEvent): void {
    const sec = Date.parse(event.time) / 1_000
    switch (event.type) {
      case orderPlaced.name: {
        const placed = decodeEvent(orderPlaced, event)
        // Told again by who did not learn that the log had it: the first counts.
        if (this.#orders.has(placed.orderId)) return
        const order: Order = { ...placed, placed, step: 'ordered', placedSec: sec, movedSec: sec, keys: new Set() }
        this.#orders.set(order.orderId, order)
        this.#byAccount.set(order.account, (this.#byAccount.get(order.account) ?? new Set()).add(order.orderId))
        return
      }
      case orderMoved.name: {
        const move = decodeEvent(orderMoved, event)
        this.#change(move.orderId, (order) => ({
          ...order,
          ...{ step: move.to, movedSec: sec },
          ...(move.to === 'accepted' ? { days: move.days } : {}),
          ...(move.to === 'running' ? { endsSec: sec + order.days * DAY_SEC } : {}),
        }))
        return
      }
      case orderExtended.name: {
        const { orderId, days, until } = decodeEvent(orderExtended, event)
        this.#change(orderId, (order) => ({
          ...order,
          ...{ days, endsSec: Date.parse(until) / 1_000 },
          // One that had expired runs from then on.
          movedSec: stateAt(order, sec) === 'expired' ? sec : order.movedSec,
        }))
        return
      }
      case tokenCreated.name: {
        const { order, tokenHash } = decodeEvent(tokenCreated, event)
        if (order === undefined) return
        this.#byKey.set(tokenHash, order.id)
        this.#change(order.id, (known) => ({ ...known, keys: new Set([...known.keys, tokenHash]) }))
        return
      }
      case tokenRevoked.name: {
        const { tokenHash } = decodeEvent(tokenRevoked, event)
        const id = this.#byKey.get(tokenHash)
        if (id === undefined) return
        this.#byKey.delete(tokenHash)
        this.#change(id, (known) => ({ ...known, keys: known.keys.difference(new Set([tokenHash])) }))
      }
    }
  }

  get(orderId: string): Order | undefined {
    return this.#orders.get(orderId)
  }

  /** In the order in which they were placed; without an account those of all. */
  of(account?: string): readonly Order[] {
    if (account === undefined) return [...this.#orders.values()]
    return [...(this.#byAccount.get(account) ?? [])].flatMap((orderId) => this.#orders.get(orderId) ?? [])
  }

  #change(orderId: string, change: (order: Order) => Order): void {
    const order = this.#orders.get(orderId)
    if (order !== undefined) this.#orders.set(orderId, change(order))
  }
}

/** How it stands at a time. */
export function stateAt({ step, endsSec }: Order, nowSec: number): OrderState {
  return step === 'running' && endsSec !== undefined && nowSec >= endsSec ? 'expired' : step
}

/** Whether it can be paid for longer: while it runs, and shortly after. */
export function canExtend({ step, endsSec }: Order, nowSec: number): boolean {
  return step === 'running' && endsSec !== undefined && nowSec < endsSec + ORDER_EXTENDED_AFTER_DAYS_MAX * DAY_SEC
}

/** What its customer and its operator see of it. */
export function toOrderView(order: Order, nowSec: number): OrderView {
  const { keys, placed, step, movedSec, endsSec, ...fields } = order
  const state = stateAt(order, nowSec)
  const ends = endsSec === undefined || state === 'cancelled' ? {} : { endsSec }
  return { ...fields, state, movedSec: state === 'expired' ? (endsSec ?? movedSec) : movedSec, ...ends }
}

/**
 * What nothing is decided without: a step that cannot be read may be the cancelling, after which nobody gets a key. Without another fact
 * less is allowed than with it, as of an order that nobody has placed or that is over earlier; a key of such a fact works for nobody.
 */
const REQUIRED: ReadonlySet<string> = new Set([orderMoved.name])

/** What the log has of them; `log` is told of facts that cannot be read. Throws AppError `undecodable` for a step that cannot be. */
export async function readOrderBook(
  eventLog: Pick<EventLog, 'read'>,
  log: Pick<Log, 'error'>,
  signal: AbortSignal,
): Promise<OrderBook> {
  const book = new OrderBook()
  const add = (event: EncodedEvent) => book.add(event)
  await readFacts({ eventLog, topic: 'accounts', log, signal, required: REQUIRED, add })
  return book
}
