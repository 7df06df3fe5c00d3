import type { Log } from '../ports/log.ts'
import type { GroupName, NetworkStatus, Upstreams } from '../ports/upstreams.ts'
import type { UpstreamOptions } from './http-upstream.ts'
import { OpenNetwork } from './open-network.ts'

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
  /** Upstreams' ids follow from it and their addresses: equal in all processes, and opaque to whoever does not know it. */
  readonly secret: string
  /** Between two looks at every upstream. */
  readonly probeMs?: number
}

const PROBE_MS = 3_000

/** Upstreams that may be replaced while calls run: those that stay as they are keep their connections and what is known of them. */
export interface OpenUpstreams extends Upstreams, AsyncDisposable {
  replace(networks: readonly NetworkOptions[]): void
  /** In the order of the configuration. */
  status(): readonly NetworkStatus[]
}

/** Opens what is configured, and looks at each upstream again and again, from now on until it is disposed. */
export function openUpstreams({ networks, log, secret, probeMs = PROBE_MS }: UpstreamsOptions): OpenUpstreams {
  let open = new Map<string, OpenNetwork>()
  /** Of `open` those that most calls are for, by protocol and network: to put a name together for each would take longer than to find it. */
  let plain = new Map<string, Map<string, OpenNetwork>>()
  const closing = new Set<Promise<void>>()

  function replace(changed: readonly NetworkOptions[]): void {
    const next = new Map<string, OpenNetwork>()
    for (const options of changed) {
      const name = nameOf(options)
      const known = open.get(name)
      const isTaken = known?.take(options) === true
      next.set(name, isTaken ? known : new OpenNetwork(name, options, { log, secret, probeMs }))
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
