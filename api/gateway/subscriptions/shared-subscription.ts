import type { NodeSubscription } from './node-link.ts'
import type { Notification, RpcAnswer } from './rpc-link.ts'
import type { SubscribeCall } from './subscribe-call.ts'

/** A client's subscription. */
export interface Listener {
  /** JSON; the client's for as long as it lasts, whichever node tells. */
  readonly id: string
  tell(text: string): void
  /** What comes next cannot be told. */
  end(): void
}

/** How a wish to subscribe ends: `refused` by the node, in its words; `unreached`: no node has answered. */
export type Outcome =
  | { readonly status: 'begun'; readonly shared: SharedSubscription }
  | { readonly status: 'refused'; readonly answer: RpcAnswer }
  | { readonly status: 'unreached' }

/** One subscription at a node, and the clients that hear it. */
export class SharedSubscription {
  readonly call: SubscribeCall
  readonly listeners = new Set<Listener>()
  /** Who waits until it has begun. */
  readonly joiners = new Set<(outcome: Outcome) => void>()
  /** Undefined while there is none. */
  atNode: NodeSubscription | undefined
  /** Whether the newest is being told, and nothing before it is missing. */
  isLive = false
  /** The first time, or again, at the link that there is. */
  beginning: Promise<void> | undefined
  #latest: Notification | undefined

  constructor(call: SubscribeCall) {
    this.call = call
  }

  /** Whether there is, or may be, somebody to hear it. */
  get isWanted(): boolean {
    return this.listeners.size + this.joiners.size > 0
  }

  add(listener: Listener): void {
    this.listeners.add(listener)
    if (this.#latest !== undefined) listener.tell(this.#latest.before + listener.id + this.#latest.after)
  }

  tell(notification: Notification): void {
    if (this.call.tellsLatest) this.#latest = notification
    for (const listener of this.listeners) listener.tell(notification.before + listener.id + notification.after)
  }

  /** What was looked up because nobody has told it when it happened; `result` is JSON. */
  replay(result: string): void {
    const before = '{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":'
    for (const listener of this.listeners) listener.tell(`${before}${listener.id},"result":${result},"replayed":true}}`)
  }

  settle(outcome: Outcome): void {
    for (const join of this.joiners) {
      this.joiners.delete(join)
      join(outcome)
    }
  }

  end(): void {
    this.settle({ status: 'unreached' })
    for (const listener of this.listeners) listener.end()
  }
}
