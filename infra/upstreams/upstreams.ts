import { isDeepStrictEqual } from 'node:util'
import type { Protocol, Service } from '../../schemas/protocols/protocol.ts'
import { identityOf, networkOf, protocolOf } from '../../schemas/protocols/protocols.ts'
import { pause } from '../../schemas/wait.ts'
import type { Log } from '../ports/log.ts'
import type { GroupName, NetworkStatus, Upstreams } from '../ports/upstreams.ts'
import { HttpUpstream, type UpstreamOptions } from './http-upstream.ts'
import { askProbes, readValue } from './probe.ts'
import { type SocketAddress, socketAddressOf } from './socket.ts'
import { HttpUpstreamGroup, type Member, type MemberSocket } from './upstream-group.ts'
import { UpstreamHealth } from './upstream-health.ts'

/** The upstreams of one network, as they are configured. */
export interface NetworkOptions {
  readonly protocol: string
  readonly network: string
  /** '' but for TON. */
  readonly service: string
  /** Id of the order whose nodes these are alone; absent: all share them. */
  readonly order?: string
  /** Instead of what the table of protocols says. */
  readonly identity?: string
  /** Reads that are slow are asked of another one, too. */
  readonly hedge?: boolean
  /** Equal reads that are in flight at a time are asked once. */
  readonly coalesce?: boolean
  /** Of answers that change no more, which are kept; undefined: none are. */
  readonly keptBytes?: number
  readonly upstreams: readonly UpstreamOptions[]
}

export interface UpstreamsOptions {
  readonly networks: readonly NetworkOptions[]
  readonly log: Log
  /** Between two looks at every upstream. */
  readonly probeMs?: number
}

const PROBE_MS = 3_000

/** Upstreams that may be replaced while calls run: those of networks that stay as they are keep their connections and what is known of them. */
export interface OpenUpstreams extends Upstreams, AsyncDisposable {
  replace(networks: readonly NetworkOptions[]): void
  /** In the order of the configuration. */
  status(): readonly NetworkStatus[]
}

/** Opens what is configured, and looks at each upstream again and again, from now on until it is disposed. */
export function openUpstreams({ networks, log, probeMs = PROBE_MS }: UpstreamsOptions): OpenUpstreams {
  let open = new Map<string, OpenNetwork>()
  /** Of `open` those that most calls are for, by protocol and network: to put a name together for each would take longer than to find it. */
  let plain = new Map<string, Map<string, OpenNetwork>>()
  const closing = new Set<Promise<void>>()

  function replace(changed: readonly NetworkOptions[]): void {
    const next = new Map<string, OpenNetwork>()
    for (const options of changed) {
      const name = nameOf(options)
      const known = open.get(name)
      next.set(name, known?.is(options) === true ? known : new OpenNetwork(name, options, log, probeMs))
    }
    for (const [name, network] of open) if (next.get(name) !== network) close(network)
    open = next
    plain = plainOf(changed, next)
  }

  function close(network: OpenNetwork): void {
    const closed = network.drain().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  replace(networks)
  return {
    replace,
    status: () => [...open.values()].map((network) => network.status()),
    groupOf(name) {
      const { protocol, network, service = '', order } = name
      const isPlain = service === '' && order === undefined
      return (isPlain ? plain.get(protocol)?.get(network) : open.get(nameOf(name)))?.group
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...[...open.values()].map((network) => network[Symbol.asyncDispose]()), ...closing])
    },
  }
}

/** The networks that have no name of a service, and that all share. */
function plainOf(
  networks: readonly NetworkOptions[],
  open: ReadonlyMap<string, OpenNetwork>,
): Map<string, Map<string, OpenNetwork>> {
  const plain = new Map<string, Map<string, OpenNetwork>>()
  for (const options of networks) {
    if (options.service !== '' || options.order !== undefined) continue
    const ofProtocol = plain.get(options.protocol) ?? new Map<string, OpenNetwork>()
    ofProtocol.set(options.network, open.get(nameOf(options)) as OpenNetwork)
    plain.set(options.protocol, ofProtocol)
  }
  return plain
}

/** No place has a blank in it. */
function nameOf({ protocol, network, service = '', order }: GroupName): string {
  const place = service === '' ? `${protocol}/${network}` : `${protocol}/${network}/${service}`
  return order === undefined ? place : `${order} ${place}`
}

/** The upstreams of one network, and who looks at them. */
class OpenNetwork implements AsyncDisposable {
  readonly group: HttpUpstreamGroup
  readonly #name: string
  readonly #options: NetworkOptions
  readonly #service: Service
  /** As `readValue` reads it; undefined: nothing to compare with. */
  readonly #identity: string | undefined
  readonly #log: Log
  readonly #stop = new AbortController()
  readonly #watching: Promise<unknown>
  /** Why they were left out when that was told last; undefined: they were not. */
  readonly #faults = new Map<Member, string | undefined>()
  /** Those of which it was told last that their WebSocket does not connect. */
  readonly #unconnected = new Set<Member>()

  constructor(name: string, options: NetworkOptions, log: Log, probeMs: number) {
    this.#name = name
    this.#options = options
    this.#log = log
    const protocol = protocolOf(options.protocol) as Protocol
    this.#service = protocol.services.find((service) => service.name === options.service) as Service
    const network = networkOf(protocol, options.network)
    const identity = options.identity ?? (network === undefined ? undefined : identityOf(network, options.service))
    const probe = this.#service.identity
    this.#identity = probe === undefined || identity === undefined ? undefined : readValue(identity, probe.as)
    const members = options.upstreams.map((upstream) => ({
      upstream: new HttpUpstream(upstream),
      health: new UpstreamHealth(),
      socket: memberSocketOf(socketAddressOf(upstream, protocol.webSocket)),
    }))
    const { hedge, coalesce = false, keptBytes = 0 } = options
    const sharing = coalesce || keptBytes > 0 ? { coalesce, keptBytes } : undefined
    this.group = new HttpUpstreamGroup(members, this.#service.lagMax, { hedge, sharing })
    this.#watching = Promise.all([this.#watch(probeMs), this.#tend(probeMs)])
  }

  is(options: NetworkOptions): boolean {
    return isDeepStrictEqual(this.#options, options)
  }

  status(): NetworkStatus {
    return { name: this.#name, upstreams: this.group.members.map((member) => this.group.statusOf(member)) }
  }

  /** Lets calls that run end. */
  async drain(): Promise<void> {
    this.#stop.abort()
    this.group.loseSockets()
    await Promise.all(this.group.members.map(({ upstream }) => upstream.drain()))
    await this.#watching
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    this.group.loseSockets()
    await Promise.all(this.group.members.map(({ upstream }) => upstream[Symbol.asyncDispose]()))
    await this.#watching
  }

  async #watch(probeMs: number): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#look()
      await pause(probeMs, this.#stop.signal)
    }
  }

  /** Beside the looks, which wait for who is silent. */
  async #tend(probeMs: number): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.group.tendSockets()
      for (const [index, member] of this.group.members.entries()) this.#tellSocket(member, index)
      await pause(probeMs, this.#stop.signal)
    }
  }

  async #look(): Promise<void> {
    const { members } = this.group
    await Promise.all(
      members.map(async (member) => {
        const found = await this.#find(member)
        if (this.#stop.signal.aborted) return
        member.health.note(found)
        if (found !== undefined) member.upstream.breaker.endRest(performance.now())
      }),
    )
    if (this.#stop.signal.aborted) return
    const heads = members.flatMap(({ health }) =>
      health.isRightChain && health.head !== undefined ? [health.head] : [],
    )
    const best = heads.length === 0 ? 0 : Math.max(...heads)
    for (const [index, member] of members.entries()) {
      if (heads.length > 0) member.health.compare(best)
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

function memberSocketOf(address: SocketAddress | undefined): MemberSocket | undefined {
  return address === undefined ? undefined : { address, connects: undefined, failedTries: 0, looksLeft: 0 }
}
