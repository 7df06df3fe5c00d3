import type { Log } from '../../../infra/ports/log.ts'
import type { GroupName, Upstreams } from '../../../infra/ports/upstreams.ts'
import type { Protocol } from '../../../schemas/protocols/protocol.ts'
import type { ClientLink } from '../client-link.ts'
import { ClientSubscriptions, type ClientSubscriptionsOptions } from './client-subscriptions.ts'
import { NetworkSubscriptions } from './network-subscriptions.ts'

/** Of all sockets of a key. */
export const SUBSCRIPTIONS_OF_KEY_MAX = 5_000

/** Where a client is, and by which key. */
export interface Place {
  readonly protocol: Protocol
  readonly network: string
  readonly tokenHash: string
  /** Id of the order that the key is for; undefined: it is for what all share. */
  readonly order: string | undefined
  readonly onTold: ClientSubscriptionsOptions['onTold']
}

/** What all clients of all networks are subscribed to. */
export class Subscriptions {
  readonly #upstreams: Upstreams
  readonly #log: Log
  readonly #networks = new Map<string, NetworkSubscriptions>()
  readonly #ofKeys = new Map<string, number>()

  constructor(upstreams: Upstreams, log: Log) {
    this.#upstreams = upstreams
    this.#log = log
  }

  /** Subscriptions at nodes. */
  get size(): number {
    return [...this.#networks.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Keys of clients that are subscribed to something. */
  get keys(): number {
    return this.#ofKeys.size
  }

  /** Undefined: clients of the protocol subscribe to nothing, or each over a node's socket of its own. */
  open({ protocol, network, tokenHash, order, onTold }: Place, client: ClientLink): ClientSubscriptions | undefined {
    const { methods, webSocket } = protocol
    if (methods === undefined || webSocket?.isBridged === true || webSocket?.methodKey !== undefined) return undefined
    if (Object.keys(methods.subscribes).length === 0) return undefined
    const ofNetwork = this.#networkOf({ protocol: protocol.name, network, order })
    const count = (by: 1 | -1): boolean => this.#count(tokenHash, by)
    return new ClientSubscriptions({ methods, network: ofNetwork, client, count, onTold })
  }

  /** Of an order those of its own nodes: nobody else hears from these. */
  #networkOf(group: GroupName): NetworkSubscriptions {
    const { protocol, network, order } = group
    const name = order === undefined ? `${protocol}/${network}` : `${order} ${protocol}/${network}`
    let known = this.#networks.get(name)
    if (known === undefined) {
      const groupOf = () => this.#upstreams.groupOf(group)
      known = new NetworkSubscriptions({ name, groupOf, log: this.#log })
      this.#networks.set(name, known)
    }
    return known
  }

  /** False: the key has as many as it may. */
  #count(tokenHash: string, by: 1 | -1): boolean {
    const count = (this.#ofKeys.get(tokenHash) ?? 0) + by
    if (count > SUBSCRIPTIONS_OF_KEY_MAX) return false
    if (count > 0) this.#ofKeys.set(tokenHash, count)
    else this.#ofKeys.delete(tokenHash)
    return true
  }
}
