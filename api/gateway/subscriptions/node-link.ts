import type { UpstreamGroup } from '../../../infra/ports/upstreams.ts'
import { type Notification, type RpcAnswer, RpcLink } from './rpc-link.ts'

/** Nodes have limits for one socket: 1,024 of polkadot-sdk and reth unless they are told another, 1,000 of providers. */
export const SUBSCRIPTIONS_OF_NODE_SOCKET_MAX = 1_000
/** Of one network, to its node: nodes have limits for sockets, too. */
export const SOCKETS_OF_NODE_MAX = 16

/** A subscription at a node. */
export interface NodeSubscription {
  /** The node's, as JSON: of its socket alone. */
  readonly id: string
  readonly socket: NodeSocket
}

/** One of the sockets, and what is subscribed to over it. */
export interface NodeSocket {
  readonly node: NodeLink
  readonly link: RpcLink
  /** Those that are being made too. */
  subscriptions: number
}

/** `full`: there is no room, or no further socket opens; undefined: the node is lost. */
export type Subscribed = { readonly answer: RpcAnswer; readonly socket: NodeSocket } | 'full' | undefined

type OnNotification = (notification: Notification, socket: NodeSocket) => void

/**
 * What all clients of a network share of one node: a socket for calls and the first subscriptions, and further ones to the same node for
 * those that are more than a socket may have. They are lost together, so all that is told comes from one node.
 */
export class NodeLink {
  /** Resolves when it is lost, whoever has ended it. */
  readonly lost: Promise<void>
  readonly #group: UpstreamGroup | undefined
  readonly #onNotification: OnNotification
  readonly #first: NodeSocket
  readonly #further = new Set<NodeSocket>()

  /** `tried` are ids of upstreams that will not do. */
  constructor(group: UpstreamGroup | undefined, tried: readonly string[], onNotification: OnNotification) {
    this.#group = group
    this.#onNotification = onNotification
    this.#first = this.#connect(tried)
    this.lost = this.#first.link.lost.then(() => this.close())
  }

  /** Resolves with whether there was a socket. */
  get opened(): Promise<boolean> {
    return this.#first.link.opened
  }

  /** Of the upstream; undefined: there is none left to connect to. */
  get id(): string | undefined {
    return this.#first.link.id
  }

  get isLost(): boolean {
    return this.#first.link.isLost
  }

  /** Its subscribers were told of a block: whoever asks for the newest one is not to hear of an older one. */
  tellHead(number: number): void {
    if (this.id !== undefined) this.#group?.tellsHead(this.id, number)
  }

  /** As a link's, over the first socket. */
  call(method: string, params: string | undefined, onAnswer?: () => void): Promise<RpcAnswer | undefined> {
    return this.#first.link.call(method, params, onAnswer)
  }

  /** Over each of the further sockets: where the node is a balancer, another one may be behind each. Of those that answer. */
  async callFurther(method: string): Promise<readonly RpcAnswer[]> {
    const call = async ({ link }: NodeSocket) => ((await link.opened) ? link.call(method, '[]') : undefined)
    const answers = await Promise.all([...this.#further].map(call))
    return answers.filter((answer) => answer !== undefined)
  }

  /** Calls over a socket that has room for one more, which the answer is to fill or `leave` frees. */
  async subscribe(method: string, params: string | undefined): Promise<Subscribed> {
    const socket = this.#withRoom()
    if (socket === undefined) return 'full'
    socket.subscriptions++
    if (!(await socket.link.opened)) {
      this.#further.delete(socket)
      return this.isLost ? undefined : 'full'
    }
    const answer = await socket.link.call(method, params)
    return answer === undefined ? undefined : { answer, socket }
  }

  /** Ends a subscription by the method for it. */
  unsubscribe(method: string, { id, socket }: NodeSubscription): void {
    void socket.link.call(method, `[${id}]`)
    this.leave(socket)
  }

  /** A subscription has not begun, or is over. */
  leave(socket: NodeSocket): void {
    socket.subscriptions--
    if (socket.subscriptions > 0 || !this.#further.delete(socket)) return
    socket.link.close()
  }

  close(): void {
    this.#first.link.close()
    for (const { link } of this.#further) link.close()
    this.#further.clear()
  }

  #withRoom(): NodeSocket | undefined {
    const hasRoom = ({ subscriptions }: NodeSocket): boolean => subscriptions < SUBSCRIPTIONS_OF_NODE_SOCKET_MAX
    const found = [this.#first, ...this.#further].find(hasRoom)
    if (found !== undefined || this.#further.size + 1 >= SOCKETS_OF_NODE_MAX) return found
    const socket = this.#connect([], this.id)
    this.#further.add(socket)
    void socket.link.opened.then(async (isOpen) => {
      if (!isOpen) return
      await socket.link.lost
      // Not one that was left because nothing is subscribed to over it.
      if (this.#further.has(socket)) this.close()
    })
    return socket
  }

  #connect(tried: readonly string[], id?: string): NodeSocket {
    const onNotification = (notification: Notification): void => this.#onNotification(notification, socket)
    const link = new RpcLink(this.#group, { tried, id }, onNotification)
    const socket: NodeSocket = { node: this, link, subscriptions: 0 }
    return socket
  }
}
