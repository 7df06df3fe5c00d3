import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { ApiParts } from '../../api/http/api-parts.ts'
import type { ApiChain } from '../../api/http/chain-path.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import { type NetworkOptions, type OpenUpstreams, openUpstreams } from '../../infra/upstreams/upstreams.ts'
import type { Probe, Protocol, Service } from '../../schemas/protocols/protocol.ts'
import { identityOf, networkOf, protocolOf } from '../../schemas/protocols/protocols.ts'
import { silentLog } from '../unit/silent-log.ts'
import { type GivenApi, openGivenApi, TOKEN } from './given-api.ts'

// A gateway before nodes that answer what a test says, and are asked over real connections.

/** A request as a node has got it. */
export interface Got {
  readonly verb: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Answer = (got: Got, response: ServerResponse) => void

/** A node that answers probes as its chain does, and all else as the test says. */
export interface Stub extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Without probes. */
  readonly got: Got[]
  head: number
  /** Of its final block. */
  final: number | undefined
  identity: string | undefined
  answer: Answer
  readonly server: Server
}

export const rpcAnswer: Answer = ({ body }, response) => {
  if (body === '') {
    sendJson(response, { fine: true })
    return
  }
  const call = JSON.parse(body) as { readonly id: number } | readonly { readonly id: number }[]
  const one = ({ id }: { readonly id: number }) => ({ jsonrpc: '2.0', id, result: '0x2a' })
  sendJson(response, Array.isArray(call) ? call.map(one) : one(call as { readonly id: number }))
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

export async function openStub(name: string, networkName: string, serviceName = ''): Promise<Stub> {
  const protocol = protocolOf(name) as Protocol
  const service = protocol.services.find((one) => one.name === serviceName) as Service
  const network = networkOf(protocol, networkName)
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const got = {
        verb: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      }
      const known = [
        ...(isProbe(service.head, got) ? [answerTo(service.head as Probe, stub.head)] : []),
        ...(isProbe(service.final, got) ? [answerTo(service.final as Probe, stub.final)] : []),
        ...(isProbe(service.identity, got) ? [answerTo(service.identity as Probe, stub.identity)] : []),
      ]
      if (known.length > 0) {
        sendJson(response, known.reduce(merge))
        return
      }
      stub.got.push(got)
      stub.answer(got, response)
    })
  }
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stub: Stub = {
    url: `http://127.0.0.1:${port}`,
    port,
    got: [],
    head: 100,
    final: undefined,
    identity: network === undefined ? undefined : identityOf(network, serviceName),
    answer: rpcAnswer,
    server,
    async [Symbol.asyncDispose]() {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return stub
}

/** Clients' calls have a user agent. */
function isProbe(probe: Probe | undefined, { verb, path, body, headers }: Got): boolean {
  if (headers['user-agent'] !== undefined) return false
  if (probe === undefined || probe.verb !== verb || probe.path !== path) return false
  return probe.body === undefined ? true : body === JSON.stringify(probe.body)
}

/** An answer that has the value where the probe looks for it. */
function answerTo({ at, as }: Probe, value: number | string | undefined): unknown {
  const plain = as === 'hex' && typeof value === 'number' ? `0x${value.toString(16)}` : value
  return at.toReversed().reduce<unknown>((inner, name) => {
    if (typeof name === 'string') return { [name]: inner }
    const list: unknown[] = []
    list[name] = inner
    return list
  }, plain)
}

function merge(one: unknown, other: unknown): unknown {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return other
  const merged = { ...one } as Record<string, unknown>
  for (const [name, value] of Object.entries(other)) merged[name] = name in merged ? merge(merged[name], value) : value
  return merged
}

export interface GivenGateway extends AsyncDisposable {
  readonly given: GivenApi
  readonly api: Api
  readonly upstreams: OpenUpstreams
  /** Asks below `/{protocol}/{network}/{token}`. */
  ask(place: string, init?: RequestInit & { readonly path?: string; readonly token?: string }): Promise<Response>
  call(place: string, method: string, params?: readonly unknown[]): Promise<Response>
}

/** Soon enough for tests, and not so soon that a busy machine does nothing else. */
const PROBE_MS = 100

export async function openGivenGateway(
  networks: readonly NetworkOptions[],
  {
    chains = [],
    probeMs = PROBE_MS,
    ...parts
  }: Partial<Omit<ApiParts, 'chains'>> & { readonly chains?: readonly ApiChain[]; readonly probeMs?: number } = {},
): Promise<GivenGateway> {
  const given = await openGivenApi()
  const upstreams = openUpstreams({ networks, log: silentLog, secret: 'secret', probeMs })
  const api = await openApi({ ...given.partsOf(chains), ...parts, upstreams, host: '127.0.0.1', port: 0 })
  const ask: GivenGateway['ask'] = (place, { path = '', token = TOKEN, ...init } = {}) =>
    fetch(`${api.url}/${place}/${token}${path}`, init)
  return {
    ...{ given, api, upstreams, ask },
    call: (place, method, params = []) =>
      ask(place, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }) }),
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]()
      await upstreams[Symbol.asyncDispose]()
      await given[Symbol.asyncDispose]()
    },
  }
}

export function networkOn(place: string, ...stubs: readonly Pick<Stub, 'url'>[]): NetworkOptions {
  const [protocol = '', network = '', service = ''] = place.split('/')
  return { protocol, network, service, upstreams: stubs.map(({ url }) => ({ url, headers: {}, weight: 1 })) }
}

/** Until a group of upstreams has somebody to ask. */
export async function untilHealthy(
  { upstreams }: Pick<GivenGateway, 'upstreams'>,
  place: string,
  { order, ms = 10_000 }: { readonly order?: string; readonly ms?: number } = {},
): Promise<void> {
  const [protocol = '', network = '', service = ''] = place.split('/')
  const end = performance.now() + ms
  while (upstreams.groupOf({ protocol, network, service, order })?.choose({ tried: [] }) === undefined) {
    if (performance.now() > end) throw new Error(`no upstream of ${place} is healthy`)
    await wait(20)
  }
}
