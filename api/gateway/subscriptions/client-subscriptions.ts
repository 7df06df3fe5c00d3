import type { Methods } from '../../../schemas/protocols/protocol.ts'
import { type Bill, CLIENT_LEFT } from '../bill.ts'
import type { Call } from '../calls.ts'
import { CLOSE, type ClientLink } from '../client-link.ts'
import { rpcRefusal, tellRefusal } from '../refusals.ts'
import type { NetworkSubscriptions } from './network-subscriptions.ts'
import type { NodeSubscription } from './node-link.ts'
import type { Listener, Outcome, SharedSubscription } from './shared-subscription.ts'
import { newSubscriptionId, readSubscribeCall, type SubscribeCall } from './subscribe-call.ts'

/** Of one socket. */
export const SUBSCRIPTIONS_OF_SOCKET_MAX = 1_000

export interface ClientSubscriptionsOptions {
  readonly methods: Methods
  readonly network: NetworkSubscriptions
  readonly client: ClientLink
  /** Counts one more, or less, of the key; false: it may have no more. */
  readonly count: (by: 1 | -1) => boolean
  /** So many bytes were told of what the method has subscribed to. */
  readonly onTold: (method: string, bytes: number) => void
}

interface Asking {
  /** Called once, when its answer is out. */
  readonly onOut: () => void
  readonly bill: Bill | undefined
}

interface Subscribed {
  readonly shared: SharedSubscription
  readonly listener: Listener
}

/** As nodes say it. */
const NOT_FOUND = { status: 200, code: -32000, message: 'subscription not found' }

/** What one client is subscribed to, by the ids that it knows. */
export class ClientSubscriptions {
  readonly #options: ClientSubscriptionsOptions
  readonly #subscribed = new Map<string, Subscribed>()
  /** Ends waiting for those that have not begun. */
  readonly #joining = new Set<{ end(): void }>()
  readonly #unsubscribes: ReadonlySet<string>
  #reserved = 0

  constructor(options: ClientSubscriptionsOptions) {
    this.#options = options
    this.#unsubscribes = new Set(Object.values(options.methods.subscribes))
  }

  /** Those that are being made too. */
  get size(): number {
    return this.#reserved
  }

  subscribes(method: string): boolean {
    return Object.hasOwn(this.#options.methods.subscribes, method)
  }

  unsubscribes(method: string): boolean {
    return this.#unsubscribes.has(method)
  }

  /** Room for one more, which `subscribe` fills or `giveUp` frees; false: there is none. */
  reserve(): boolean {
    if (this.#reserved >= SUBSCRIPTIONS_OF_SOCKET_MAX || !this.#options.count(1)) return false
    this.#reserved++
    return true
  }

  giveUp(): void {
    this.#reserved--
    this.#options.count(-1)
  }

  /** Answers the call, and tells what there is to tell from then on. Where it throws, the room is still the caller's to free. */
  subscribe(body: Buffer, call: Call, asking: Asking): void {
    const { methods } = this.#options
    const wanted = readSubscribeCall(body, call, methods) as SubscribeCall
    const joining = { end: (): void => {} }
    this.#joining.add(joining)
    const cancel = this.#join(wanted, joining, (outcome) => this.#onOutcome(outcome, call, asking))
    joining.end = (): void => {
      cancel()
      this.giveUp()
      asking.bill?.answered(CLIENT_LEFT, 0)
      asking.onOut()
    }
  }

  #join(wanted: SubscribeCall, joining: { end(): void }, onOutcome: (outcome: Outcome) => void): () => void {
    try {
      return this.#options.network.join(wanted, (outcome) => {
        this.#joining.delete(joining)
        onOutcome(outcome)
      })
    } catch (error) {
      this.#joining.delete(joining)
      throw error
    }
  }

  /** The answer. */
  unsubscribe(body: Buffer, { method, params, id = 'null' }: Call): string {
    const [named] = params === undefined ? [] : readItems(body.toString('utf8', params.from, params.to))
    const mine = JSON.stringify(named) ?? ''
    const subscribed = this.#subscribed.get(mine)
    if (subscribed?.shared.call.unsubscribe !== method) return rpcRefusal(NOT_FOUND, id)
    this.#subscribed.delete(mine)
    this.giveUp()
    this.#options.network.leave(subscribed.shared, subscribed.listener)
    return `{"jsonrpc":"2.0","id":${id},"result":true}`
  }

  /** The client is gone. */
  end(): void {
    for (const { end } of this.#joining) end()
    this.#joining.clear()
    for (const { shared, listener } of this.#subscribed.values()) {
      this.giveUp()
      this.#options.network.leave(shared, listener)
    }
    this.#subscribed.clear()
  }

  #onOutcome(outcome: Outcome, { id = 'null', method }: Call, asking: Asking): void {
    const { client, onTold } = this.#options
    if (outcome.status === 'begun') {
      const { shared } = outcome
      const listener: Listener = {
        id: newSubscriptionId((shared.atNode as NodeSubscription).id),
        tell: (text) => {
          if (client.tell(text)) onTold(method, Buffer.byteLength(text))
        },
        end: () => client.close(CLOSE.restart, 'what would have been told is lost with its node'),
      }
      this.#subscribed.set(listener.id, { shared, listener })
      this.#answer(`{"jsonrpc":"2.0","id":${id},"result":${listener.id}}`, asking)
      shared.add(listener)
      return
    }
    this.giveUp()
    if (outcome.status === 'unreached') {
      const told = tellRefusal({ kind: 'none-healthy' })
      const text = rpcRefusal(told, id)
      asking.bill?.failed(told.status, Buffer.byteLength(text))
      client.answer(text, asking.onOut)
    } else {
      const { error, result = null } = outcome.answer
      const said = error === undefined ? `"result":${JSON.stringify(result)}` : `"error":${JSON.stringify(error)}`
      this.#answer(`{"jsonrpc":"2.0","id":${id},${said}}`, asking)
    }
  }

  #answer(text: string, { bill, onOut }: Asking): void {
    bill?.answered(200, Buffer.byteLength(text))
    this.#options.client.answer(text, onOut)
  }
}

function readItems(params: string): readonly unknown[] {
  const parsed: unknown = JSON.parse(params)
  return Array.isArray(parsed) ? parsed : []
}
