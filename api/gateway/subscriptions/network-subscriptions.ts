import { setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../../../infra/ports/log.ts'
import type { UpstreamGroup } from '../../../infra/ports/upstreams.ts'
import { isAboutUs } from '../node-answer.ts'
import { EvmFeed } from './evm-feed.ts'
import { NodeLink, type NodeSocket, type NodeSubscription } from './node-link.ts'
import type { Notification } from './rpc-link.ts'
import { type Listener, type Outcome, SharedSubscription } from './shared-subscription.ts'
import { HEADS_CALL, type SubscribeCall } from './subscribe-call.ts'

/** From the loss of a node until what was subscribed there goes on elsewhere. */
const RESUME_MS_MAX = 30_000
/** Between two tries, once each node was tried. */
const RETRY_MS = 100
/** Of what is told of subscriptions whose ids are still on their way. */
const EARLY_MAX = 256

export interface NetworkOptions {
  readonly name: string
  /** As it is configured now. */
  readonly groupOf: () => UpstreamGroup | undefined
  readonly log: Log
}

/** All that the clients of one network are subscribed to: at one of its nodes, and at another one when that is lost. */
export class NetworkSubscriptions {
  readonly #options: NetworkOptions
  readonly #all = new Map<string | SubscribeCall, SharedSubscription>()
  /** By the node's ids of each socket: no two sockets have to count alike. */
  readonly #byNodeId = new WeakMap<NodeSocket, Map<string, SharedSubscription>>()
  readonly #feed = new EvmFeed((shared) => this.#giveUp(shared === undefined ? this.#replayed() : [shared]))
  /** The one over which everything is told; undefined while there is none. */
  #link: NodeLink | undefined
  /** The one that was closed because nothing was left to be told. */
  #unwanted: NodeLink | undefined
  #isServing = false
  /** Subscriptions to logs: what they are whole by is the heads. */
  #ofLogs = 0
  /** Subscriptions that nodes are asked for now, and what may be of them. */
  #asked = 0
  #early: { readonly notification: Notification; readonly socket: NodeSocket }[] = []

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /** Subscriptions at nodes. */
  get size(): number {
    return this.#all.size
  }

  /** `onOutcome` is called once, unless what this returns is called before: nothing is told before it has returned. */
  join(call: SubscribeCall, onOutcome: (outcome: Outcome) => void): () => void {
    const shared = this.#find(call)
    if (shared.isLive) {
      onOutcome({ status: 'begun', shared })
      return () => {}
    }
    shared.joiners.add(onOutcome)
    this.#begin(shared)
    return () => {
      shared.joiners.delete(onOutcome)
      this.#dropUnwanted(shared)
    }
  }

  leave(shared: SharedSubscription, listener: Listener): void {
    shared.listeners.delete(listener)
    this.#dropUnwanted(shared)
  }

  #find(call: SubscribeCall): SharedSubscription {
    const key = call.key ?? call
    let shared = this.#all.get(key)
    if (shared === undefined) {
      shared = new SharedSubscription(call)
      this.#all.set(key, shared)
      if (isOfLogs(shared)) this.#ofLogs++
    }
    return shared
  }

  #replayed(): SharedSubscription[] {
    return [...this.#all.values()].filter(({ call }) => call.replayed !== undefined)
  }

  #begin(shared: SharedSubscription): void {
    if (this.#link !== undefined) void this.#subscribe(this.#link, shared)
    else if (!this.#isServing) {
      this.#isServing = true
      this.#serve().catch((error: unknown) => {
        this.#options.log.error({ err: error, network: this.#options.name }, 'the subscriptions of a network failed')
        this.#link?.close()
        this.#link = undefined
        this.#giveUp([...this.#all.values()])
      })
    }
  }

  async #serve(): Promise<void> {
    try {
      let [untilMs, lost] = [performance.now() + RESUME_MS_MAX, '']
      while (this.#all.size > 0) {
        const link = await this.#connect(untilMs, lost)
        if (link === undefined) {
          this.#giveUp([...this.#all.values()])
          return
        }
        if (await this.#beginAll(link, untilMs)) {
          await link.lost
          untilMs = performance.now() + RESUME_MS_MAX
        }
        // The node is as good as it was where nobody wanted anything of it for a moment.
        lost = link === this.#unwanted ? '' : (link.id as string)
        this.#onLost(link)
      }
    } finally {
      this.#isServing = false
    }
  }

  /** To another node than the lost one; and where something is to be resumed, until the time is up, to whichever is there again. */
  async #connect(untilMs: number, lost: string): Promise<NodeLink | undefined> {
    let tried = [lost]
    while (this.#all.size > 0) {
      const link = new NodeLink(this.#options.groupOf(), tried, this.#onNotification)
      if (await link.opened) return link
      if (link.id !== undefined) tried.push(link.id)
      else if (performance.now() > untilMs || !this.#isHeard()) return undefined
      else {
        tried = []
        await wait(RETRY_MS)
      }
    }
    return undefined
  }

  #isHeard(): boolean {
    return [...this.#all.values()].some(({ listeners }) => listeners.size > 0)
  }

  /** Whether the link is one over which everything is told now. */
  async #beginAll(link: NodeLink, untilMs: number): Promise<boolean> {
    this.#feed.hold(link)
    await Promise.all([...this.#all.values()].map((shared) => this.#subscribe(link, shared)))
    if (link.isLost) return false
    const isResumed = this.#replayed().some(({ listeners }) => listeners.size > 0)
    const caughtUp = isResumed ? await this.#feed.catchUp(link, untilMs) : 'whole'
    const isTooLate = performance.now() > untilMs
    if (caughtUp === 'impossible' || (caughtUp === 'failed' && isTooLate)) this.#giveUp(this.#replayed())
    else if (caughtUp === 'failed') {
      await wait(RETRY_MS)
      return false
    }
    if (link.isLost) return false
    this.#link = link
    const all = [...this.#all.values()]
    for (const shared of all) if (shared.atNode !== undefined) this.#goLive(shared)
    this.#feed.release()
    // Those that came meanwhile.
    for (const shared of all) if (shared.atNode === undefined) void this.#subscribe(link, shared)
    for (const shared of all) this.#dropUnwanted(shared)
    if (this.#all.size === 0) this.#rest()
    return true
  }

  #subscribe(link: NodeLink, shared: SharedSubscription): Promise<void> {
    shared.beginning ??= this.#ask(link, shared).finally(() => {
      shared.beginning = undefined
      this.#dropUnwanted(shared)
    })
    return shared.beginning
  }

  async #ask(link: NodeLink, shared: SharedSubscription): Promise<void> {
    const { call } = shared
    const heads = isOfLogs(shared) ? this.#find(HEADS_CALL) : undefined
    if (heads !== undefined && heads.atNode === undefined) await this.#subscribe(link, heads)
    this.#asked++
    // Asked before, so that nothing after it is missed by it.
    const based = call.replayed === 'heads' ? link.call('eth_getBlockByNumber', '["latest",false]') : undefined
    const subscribed = await link.subscribe(call.method, call.params)
    const base = await based
    this.#asked--
    if (link.isLost || subscribed === undefined) {
      if (call.replayed === undefined) this.#giveUp([shared])
    } else if (subscribed === 'full') this.#giveUp([shared])
    else {
      const { answer, socket } = subscribed
      const id = answer.result
      if (typeof id !== 'string' && typeof id !== 'number') {
        link.leave(socket)
        // What is about us no client hears.
        if (!isAboutUs(answer)) shared.settle({ status: 'refused', answer })
        this.#giveUp([shared])
      } else this.#placeAt(shared, { id: JSON.stringify(id), socket }, { link, base: base?.result })
    }
    this.#tellEarly()
  }

  #placeAt(
    shared: SharedSubscription,
    atNode: NodeSubscription,
    { link, base }: { readonly link: NodeLink; readonly base: unknown },
  ): void {
    const { replayed } = shared.call
    shared.atNode = atNode
    const ofSocket = this.#byNodeId.get(atNode.socket) ?? new Map<string, SharedSubscription>()
    this.#byNodeId.set(atNode.socket, ofSocket.set(atNode.id, shared))
    if (replayed !== undefined) this.#feed.begin(shared, base)
    if (replayed === undefined || this.#link === link) this.#goLive(shared)
  }

  #goLive(shared: SharedSubscription): void {
    shared.isLive = true
    shared.settle({ status: 'begun', shared })
  }

  readonly #onNotification = (notification: Notification, socket: NodeSocket): void => {
    const shared = this.#byNodeId.get(socket)?.get(notification.id)
    if (shared !== undefined) this.#tell(shared, notification)
    else if (this.#asked > 0 && this.#early.length < EARLY_MAX) this.#early.push({ notification, socket })
  }

  #tell(shared: SharedSubscription, notification: Notification): void {
    if (shared.call.replayed === undefined) shared.tell(notification)
    else this.#feed.take(shared, notification)
  }

  /** Some nodes tell of a subscription before they tell its id. */
  #tellEarly(): void {
    const early = this.#early
    this.#early = []
    for (const { notification, socket } of early) this.#onNotification(notification, socket)
  }

  #onLost(link: NodeLink): void {
    link.close()
    this.#link = undefined
    this.#early = []
    const all = [...this.#all.values()]
    for (const shared of all) {
      shared.atNode = undefined
      shared.isLive = false
    }
    // What they would have been told meanwhile is gone.
    this.#giveUp(all.filter(({ call, joiners }) => call.replayed === undefined && joiners.size === 0))
  }

  /** Ends the clients' part of them, too. */
  #giveUp(subscriptions: readonly SharedSubscription[]): void {
    for (const shared of subscriptions) {
      this.#drop(shared)
      shared.end()
    }
  }

  #dropUnwanted(shared: SharedSubscription): void {
    const isWanted = shared.isWanted || (shared.call.replayed === 'heads' && this.#ofLogs > 0)
    // Its id is needed to end it.
    if (!isWanted && shared.beginning === undefined) this.#drop(shared)
  }

  #drop(shared: SharedSubscription): void {
    const { call, atNode } = shared
    const key = call.key ?? call
    if (this.#all.get(key) !== shared) return
    this.#all.delete(key)
    this.#feed.end(shared)
    if (atNode !== undefined) {
      this.#byNodeId.get(atNode.socket)?.delete(atNode.id)
      atNode.socket.node.unsubscribe(call.unsubscribe, atNode)
    }
    if (isOfLogs(shared)) {
      this.#ofLogs--
      const heads = this.#all.get(HEADS_CALL.key as string)
      if (heads !== undefined) this.#dropUnwanted(heads)
    }
    if (this.#all.size === 0) this.#rest()
  }

  /** Whoever subscribes from now on is not to be asked for over a link that is closed. */
  #rest(): void {
    const link = this.#link
    this.#unwanted = link
    this.#link = undefined
    link?.close()
  }
}

const isOfLogs = ({ call }: SharedSubscription): boolean => typeof call.replayed === 'object'
