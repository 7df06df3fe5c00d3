import { isDeepStrictEqual } from 'node:util'
import { readValue } from '../../schemas/protocols/probe-value.ts'
import type { Protocol, Service } from '../../schemas/protocols/protocol.ts'
import { identityOf, networkOf, protocolOf } from '../../schemas/protocols/protocols.ts'
import { pause } from '../../schemas/wait.ts'
import type { Log } from '../ports/log.ts'
import type { NetworkStatus } from '../ports/upstreams.ts'
import type { UpstreamOptions } from './http-upstream.ts'
import { loseSockets, type Member, openMember } from './member.ts'
import { askProbes } from './probe.ts'
import { RetryBudget } from './retry-budget.ts'
import { HttpUpstreamGroup, ToldHead } from './upstream-group.ts'
import type { NetworkOptions } from './upstreams.ts'

interface NetworkWatch {
  readonly log: Log
  /** Of the upstreams' ids. */
  readonly secret: string
  /** Between two looks. */
  readonly probeMs: number
}

/** The upstreams of one network, and who looks at them. */
export class OpenNetwork implements AsyncDisposable {
  readonly #name: string
  readonly #protocol: Protocol
  readonly #service: Service
  /** As `readValue` reads it; undefined: nothing to compare with. */
  readonly #identity: string | undefined
  readonly #log: Log
  readonly #secret: string
  readonly #retries = new RetryBudget()
  readonly #toldHead = new ToldHead()
  readonly #stop = new AbortController()
  /** What lasts as long as it: the looks, and those of changes. */
  #watching: Promise<unknown>
  #options: NetworkOptions
  #group: HttpUpstreamGroup
  /** Those that are gone from the configuration, until what they were asked before has ended. */
  readonly #leaving = new Map<Member, Promise<void>>()
  /** Why they were left out when that was told last; undefined: they were not. */
  readonly #faults = new Map<Member, string | undefined>()
  /** Those of which it was told last that their WebSocket does not connect. */
  readonly #unconnected = new Set<Member>()

  constructor(name: string, options: NetworkOptions, { log, secret, probeMs }: NetworkWatch) {
    this.#name = name
    this.#secret = secret
    this.#options = options
    this.#log = log
    this.#protocol = protocolOf(options.protocol) as Protocol
    this.#service = this.#protocol.services.find((service) => service.name === options.service) as Service
    const network = networkOf(this.#protocol, options.network)
    const identity = options.identity ?? (network === undefined ? undefined : identityOf(network, options.service))
    const probe = this.#service.identity
    this.#identity = probe === undefined || identity === undefined ? undefined : readValue(identity, probe.as)
    this.#group = this.#groupOf(options.upstreams.map((upstream) => this.#open(upstream)))
    this.#watching = Promise.all([this.#watch(probeMs), this.#tend(probeMs)])
  }

  /** As it is configured now; one that was told before goes on with the upstreams that it had. */
  get group(): HttpUpstreamGroup {
    return this.#group
  }

  /**
   * Goes on with what is configured now; false: all upstreams have to show anew which chain they follow. Those that stay as they are keep their
   * connections, and what is known of them. Those that are gone end what they are asked, lose their sockets and are asked nothing more; where
   * none of those that stay is well, not before these were looked at.
   */
  take(options: NetworkOptions): boolean {
    if (options.identity !== this.#options.identity) return false
    if (isDeepStrictEqual(options, this.#options)) return true
    this.#options = options
    const before = this.#group.members
    const gone = new Set(before)
    const members = options.upstreams.map((upstream) => {
      const same = before.find((one) => gone.has(one) && one.upstream.is(upstream))
      if (same !== undefined) gone.delete(same)
      // At the same address it is the same node.
      const known = before.find((one) => one.upstream.isAt(upstream))
      return same ?? this.#open(upstream, known)
    })
    const isServed = members.some(({ health }) => health.isWell(this.#service.lagMax))
    if (isServed) this.#goOnWith(members, gone)
    else this.#group = this.#groupOf([...members, ...gone])
    const looked = this.#look(members.filter((one) => !before.includes(one))).then(() => {
      // Another change has seen to all that there was.
      if (!isServed && this.#options === options) this.#goOnWith(members, gone)
    })
    this.#watching = Promise.all([this.#watching, looked])
    return true
  }

  status(): NetworkStatus {
    return { name: this.#name, upstreams: this.#group.members.map((member) => this.#group.statusOf(member)) }
  }

  /** Lets calls that run end. */
  async drain(): Promise<void> {
    this.#stop.abort()
    this.#goOnWith([], new Set(this.#group.members))
    await Promise.all([...this.#leaving.values(), this.#watching])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.#goOnWith([], new Set(this.#group.members))
    await Promise.all([...this.#leaving.keys()].map(({ upstream }) => upstream[Symbol.asyncDispose]()))
    await this.#watching
  }

  /** `known`: the same node, as it was configured before. */
  #open(options: UpstreamOptions, known?: Member): Member {
    return openMember(options, { protocol: this.#protocol, secret: this.#secret }, known?.health)
  }

  #groupOf(members: readonly Member[]): HttpUpstreamGroup {
    const { hedge, coalesce = false, keptBytes = 0 } = this.#options
    const sharing = coalesce || keptBytes > 0 ? { coalesce, keptBytes } : undefined
    return new HttpUpstreamGroup(members, this.#service.lagMax, {
      ...{ hedge, sharing, retries: this.#retries, toldHead: this.#toldHead },
    })
  }

  #goOnWith(members: readonly Member[], gone: ReadonlySet<Member>): void {
    this.#group = this.#groupOf(members)
    for (const member of gone) {
      loseSockets(member)
      this.#faults.delete(member)
      this.#unconnected.delete(member)
      this.#leaving.set(
        member,
        member.upstream.drain().finally(() => this.#leaving.delete(member)),
      )
    }
  }

  async #watch(probeMs: number): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#look(this.#group.members)
      await pause(probeMs, this.#stop.signal)
    }
  }

  /** Beside the looks, which wait for who is silent. */
  async #tend(probeMs: number): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#group.tendSockets()
      for (const [index, member] of this.#group.members.entries()) this.#tellSocket(member, index)
      await pause(probeMs, this.#stop.signal)
    }
  }

  async #look(members: readonly Member[]): Promise<void> {
    await Promise.all(
      members.map(async (member) => {
        const found = await this.#find(member)
        if (this.#stop.signal.aborted) return
        member.health.note(found)
        if (found !== undefined) member.upstream.breaker.endRest(performance.now())
      }),
    )
    if (this.#stop.signal.aborted) return
    const { head: best, members: all } = this.#group
    for (const [index, member] of all.entries()) {
      if (!members.includes(member)) continue
      if (best !== undefined) member.health.compare(best)
      this.#tell(member, index)
    }
  }

  async #find({ upstream }: Member) {
    const { head, final: finalProbe } = this.#service
    const identity = this.#identity === undefined ? undefined : this.#service.identity
    const keepsAnswers = (this.#options.keptBytes ?? 0) > 0
    const [newest, chain, final] = await askProbes(upstream, [head, identity, keepsAnswers ? finalProbe : undefined])
    if ((head !== undefined && newest === undefined) || (identity !== undefined && chain === undefined))
      return undefined
    return {
      ...(newest === undefined ? {} : { head: Number(newest) }),
      ...(chain === undefined ? {} : { isRightChain: chain === this.#identity }),
      ...(final === undefined ? {} : { final: Number(final) }),
    }
  }

  /** Says once when an upstream is left out, and why, and when it is back. */
  #tell(member: Member, index: number): void {
    const fault = member.health.faultAt(this.#service.lagMax)
    const isFirst = !this.#faults.has(member)
    if (!isFirst && this.#faults.get(member) === fault) return
    this.#faults.set(member, fault)
    if (fault !== undefined) this.#log.warn(this.#named(member, index), `an upstream is left out: ${fault}`)
    else if (!isFirst) this.#log.info(this.#named(member, index), 'an upstream is back')
  }

  /** Says once when the WebSocket of an upstream does not connect, and when it does again. */
  #tellSocket(member: Member, index: number): void {
    const { connects } = member.socket ?? {}
    if (connects === undefined || connects === !this.#unconnected.has(member)) return
    if (connects) {
      this.#unconnected.delete(member)
      this.#log.info(this.#named(member, index), 'the WebSocket of an upstream connects')
    } else {
      this.#unconnected.add(member)
      this.#log.warn(this.#named(member, index), 'the WebSocket of an upstream does not connect: look at its ws_url')
    }
  }

  #named({ upstream }: Member, index: number) {
    return { network: this.#name, upstream: index + 1, node: upstream.id }
  }
}
