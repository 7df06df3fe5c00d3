import type { Server } from 'node:http'
import type { Log } from '../../infra/ports/log.ts'
import type { UpstreamGroup, UpstreamRequest, Upstreams } from '../../infra/ports/upstreams.ts'
import { callName, nodePathOf } from '../../schemas/protocols/match-route.ts'
import type { Route, Service } from '../../schemas/protocols/protocol.ts'
import { type AllowedUse, allowedUseOf, foreignClient } from '../http/allowed-use.ts'
import type { AccountStanding, KnownToken, Standings } from '../http/standings.ts'
import type { GatewayAddress } from './address.ts'
import { type AskedTarget, askedTarget } from './asked-target.ts'
import { type Bill, CLIENT_LEFT } from './bill.ts'
import { type Calls, readCalls, type Unreadable } from './calls.ts'
import type { ClientAddresses } from './client-address.ts'
import type { ClientRequest, ClientResponse } from './client-exchange.ts'
import { Exchange, type ExchangeOptions } from './exchange.ts'
import { bodyOf, type Forwarded, hedgeMsOf, isArchival } from './forwarded.ts'
import { toNodeHeaders } from './headers.ts'
import { HeldOpen, lackAt } from './held-open.ts'
import type { Hosts } from './hosts.ts'
import { Keys } from './keys.ts'
import { ledPath } from './led-path.ts'
import type { Meter, Taken } from './meter.ts'
import { rulesOf } from './method-rules.ts'
import { headProbeOf } from './newest-block.ts'
import { NATIVE } from './node-answer.ts'
import { OpenStreams } from './open-streams.ts'
import { listOf, type OwnAnswer } from './own-among.ts'
import { ANY_ORIGIN, refuse, send, sendPreflight } from './own-answers.ts'
import { PlainConnections } from './plain/plain-connections.ts'
import { type PreparedCalls, prepareCalls } from './prepare-calls.ts'
import { NATIVE_BODY_BYTES_MAX, PUBLIC_BODY_BYTES_MAX, RPC_BODY_BYTES_MAX, readBody } from './read-body.ts'
import { type Refusal, tellFailure, tellRefusal } from './refusals.ts'
import { sendCalls, toForwarded, unansweredIn } from './send-calls.ts'
import { SharedReads } from './shared-reads.ts'
import { Sockets } from './sockets.ts'

export interface GatewayParts {
  readonly upstreams: Upstreams
  readonly hosts: Hosts
  readonly standings: Pick<Standings, 'accounts'>
  /** Whether a key that is not in the tables is none: waits for facts that are on their way. */
  readonly accountsKnown: () => Promise<boolean>
  readonly addresses: ClientAddresses
  /** Without one nothing is limited. */
  readonly meter?: Meter | undefined
  /** Unix milliseconds on the machine. */
  readonly wallNow: () => number
  readonly log: Log
}

const UNMETERED: Taken = { status: 'passed' }
const CONSISTENT = 'consistent-hash'
/** Of who has no calls left, a longer body is not looked into for the ids that it would be answered with. */
const ANSWERED_BODY_BYTES_MAX = 64 * 1024

/** A request whose address is good. */
interface Addressed {
  readonly address: GatewayAddress
  readonly asked: AskedTarget
  readonly request: ClientRequest
  readonly response: ClientResponse
}

/** A request whose address, route and key are good. */
interface Admitted {
  readonly address: GatewayAddress
  readonly service: Service
  readonly route: Route
  readonly request: ClientRequest
  readonly response: ClientResponse
  readonly tokenHash: string
  /** Of the key, once it is known. */
  allowed: AllowedUse
  /** Likewise; undefined: the key is for what all share. */
  order: string | undefined
  /** Of what it asks, once it may. */
  bill: Bill | undefined
}

/** Forwards the native calls of all protocols. */
export class Gateway {
  readonly #parts: GatewayParts
  readonly #keys: Keys
  /** Answers without end that are under way, and sockets. */
  readonly #heldOpen: HeldOpen
  readonly #sockets: Sockets
  readonly #streams = new OpenStreams()
  readonly #reads = new SharedReads()
  #connections: PlainConnections | undefined
  #isStopping = false

  constructor(parts: GatewayParts) {
    this.#parts = parts
    this.#keys = new Keys(parts.standings)
    this.#heldOpen = new HeldOpen(this.#keys, parts)
    this.#sockets = new Sockets({ ...parts, keys: this.#keys, heldOpen: this.#heldOpen, reads: this.#reads })
  }

  /** Answers the request if its address is the gateway's; false: it is another family's, and untouched. */
  handle(request: ClientRequest, response: ClientResponse): boolean {
    const ofHost = this.#parts.hosts.targetOf(request)
    // A host name of its own has nothing of other families.
    const asked = askedTarget(request, ofHost ?? request.url ?? '')
    const address = asked.address ?? (ofHost === undefined ? undefined : 'unknown')
    if (address === undefined) return false
    // Whoever calls on and on over a connection that is kept would never let it end.
    if (this.#isStopping) response.shouldKeepAlive = false
    if (address === 'unknown') refuse({ request, response, isRpc: false }, tellRefusal({ kind: 'not-found' }))
    else if (request.headers.host === undefined && request.httpVersion === '1.1') {
      const why = 'the request has no Host header'
      refuse({ request, response, isRpc: false }, tellRefusal({ kind: 'unreadable', fault: 'request', why }))
    } else if (request.method === 'OPTIONS') sendPreflight(response)
    else this.#admit({ address, asked, request, response })
    return true
  }

  /** Takes the server's connections as far as it reads them itself, and all that asks for a WebSocket, whatever its address is. */
  serve(server: Server): void {
    this.#connections = new PlainConnections(server, (request, response) => this.handle(request, response))
    server.on('upgrade', (request, stream, head) => this.#sockets.upgrade(request, stream, head))
  }

  /** Lets what runs end, ends what would not end by itself, and keeps no connection for what comes. */
  stop(): void {
    this.#isStopping = true
    this.#sockets.stop()
    this.#heldOpen.leaveAll()
    this.#connections?.stop()
  }

  /** Ends connections and sockets whose calls are still not answered. */
  cut(): void {
    this.#connections?.cut()
    this.#sockets.cut()
  }

  #admit({ address, asked: { found, tokenHash }, request, response }: Addressed): void {
    if (found === undefined) {
      refuse(
        { request, response, isRpc: request.method === 'POST' && address.protocol.methods !== undefined },
        tellRefusal({ kind: 'not-found' }),
      )
      return
    }
    const { token } = address
    const { service, route } = found
    const allowed = allowedUseOf(undefined)
    // No spread here, nor below: to copy objects for each call would take as long as to read what it asks.
    const admitted: Admitted = {
      address,
      service,
      route,
      request,
      response,
      tokenHash,
      allowed,
      order: undefined,
      bill: undefined,
    }
    if (token === undefined) {
      const { publicAccess } = address
      if (publicAccess !== undefined) admitted.bill = this.#parts.meter?.openPublic(request, publicAccess)
      this.#forward(admitted)
      return
    }
    const known = this.#keys.get()
    if (known instanceof Promise)
      this.#failing(
        admitted,
        known.then((found) => this.#checkKey(admitted, found)),
      )
    else this.#checkKey(admitted, known)
  }

  #checkKey(admitted: Admitted, standing: AccountStanding): void {
    const known = standing.tokenOf(admitted.tokenHash)
    if (known === undefined) this.#failing(admitted, this.#lookForKey(admitted))
    else this.#admitKey(admitted, known)
  }

  /** A key may be newer than what is known of keys; and tables that lack accounts do not say that there is none. */
  async #lookForKey(admitted: Admitted): Promise<void> {
    let known = (await this.#keys.look()).tokenOf(admitted.tokenHash)
    if (known === undefined) {
      if (!(await this.#parts.accountsKnown())) {
        refuseAdmitted(admitted, { kind: 'filling' })
        return
      }
      known = (await this.#keys.look()).tokenOf(admitted.tokenHash)
    }
    if (known === undefined) refuseAdmitted(admitted, { kind: 'unauthenticated' })
    else this.#admitKey(admitted, known)
  }

  #admitKey(admitted: Admitted, known: KnownToken): void {
    const { place } = admitted.address
    const why = lackAt(known, place.chain, this.#parts.wallNow())
    const foreign = foreignClient(known.allow, admitted.request, this.#parts.addresses)
    if (why !== undefined) refuseAdmitted(admitted, { kind: 'unauthenticated', why })
    else if (foreign !== undefined) refuseAdmitted(admitted, { kind: 'not-allowed', of: foreign })
    else {
      const of = { account: known.account, tokenHash: admitted.tokenHash, place: place.name }
      admitted.bill = this.#parts.meter?.open(of)
      admitted.allowed = allowedUseOf(known.allow)
      admitted.order = known.order?.id
      this.#forward(admitted)
    }
  }

  #forward(admitted: Admitted): void {
    const { route, request, bill } = admitted
    if (route.form !== 'json-rpc') bill?.asks([{ method: callName(route, verbOf(request)) }], 0)
    const refusal = refusalOfNative(admitted)
    if (refusal !== undefined) refuseAdmitted(admitted, refusal)
    else if (route.form === 'json-rpc') this.#readCalls(admitted)
    else this.#trying(admitted, () => this.#forwardNative(admitted))
  }

  #readCalls(admitted: Admitted): void {
    const { request, address } = admitted
    const encoding = request.headers['content-encoding']
    if (encoding !== undefined && encoding !== 'identity') {
      this.#takeUnread(admitted, 'compressed', () => refuseAdmitted(admitted, { kind: 'media' }))
      return
    }
    readBody(request, address.token === undefined ? PUBLIC_BODY_BYTES_MAX : RPC_BODY_BYTES_MAX, (body) =>
      this.#trying(admitted, () =>
        this.#takeUnread(admitted, body, () => {
          if (body === 'too-large') refuseAdmitted(admitted, { kind: 'too-large' })
          else this.#forwardCalls(admitted, body)
        }),
      ),
    )
  }

  #forwardCalls(admitted: Admitted, body: Buffer): void {
    const { address, route, allowed, bill } = admitted
    const read = readCalls(body)
    if (read.status === 'unreadable') {
      bill?.addRequestBytes(body.length)
      refuseAdmitted(admitted, { kind: 'unreadable', fault: read.fault, why: read.why }, { read })
      return
    }
    const rules = rulesOf(address.protocol)
    const hasNode = (id: string): boolean => this.#groupOf(admitted)?.has(id) !== false
    const prepared = prepareCalls(body, read, { rules, publicAccess: address.publicAccess, allowed, hasNode })
    bill?.asks(read.items, body.length, prepared.own)
    if (prepared.body === undefined) {
      this.#take(admitted, { read, prepared }, () => sendAnswers(admitted, read, prepared))
      return
    }
    const path = nodePathOf(route, address.path) + address.query
    const { service } = admitted
    this.#exchange(admitted, toForwarded({ rules, service, path, read, prepared, body }))
  }

  #forwardNative(admitted: Admitted): void {
    const { request, address, service, route, bill } = admitted
    const verb = request.method as UpstreamRequest['verb']
    const hasBody = verb === 'POST'
    const path = nodePathOf(route, address.path) + address.query
    const headProbe = headProbeOf(service, { path })
    if (Number(request.headers['content-length'] ?? 0) > NATIVE_BODY_BYTES_MAX) {
      refuseAdmitted(admitted, { kind: 'too-large' })
      return
    }
    let sent: Exchange | undefined
    const listener = {
      onBytes: (bytes: number) => bill?.addRequestBytes(bytes),
      onTooLarge: () => sent?.giveUp({ kind: 'too-large' }),
    }
    this.#exchange(admitted, {
      isRepeatable: !hasBody,
      expected: NATIVE,
      headProbe,
      request: {
        verb,
        path,
        headers: toNodeHeaders(request, headProbe !== undefined),
        body: hasBody ? bodyOf(request, listener) : null,
        isEndless: route.isStream === true,
        isSearch: service.searchesPeers,
        leadTo: (led) => (hasBody ? undefined : ledPath(service, address.path, led)),
      },
      onSent: (exchange) => {
        sent = exchange
      },
    })
  }

  /** Takes what the request costs before anybody has looked into it. */
  #takeUnread(admitted: Admitted, body: Buffer | 'too-large' | 'compressed', onPassed: () => void): void {
    const refused = (): RefusedCalls =>
      body instanceof Buffer && body.length <= ANSWERED_BODY_BYTES_MAX ? { read: readCalls(body) } : {}
    this.#onTaken(admitted, admitted.bill?.takeUnread(), { refused, onPassed })
  }

  /** Takes the calls of the key's plan, or of the client's minute, before they are answered. */
  #take(admitted: Admitted, of: RefusedCalls, onPassed: () => void): void {
    this.#onTaken(admitted, admitted.bill?.take(), { refused: () => of, onPassed })
  }

  #onTaken(
    admitted: Admitted,
    taken: Taken | Promise<Taken> = UNMETERED,
    { refused, onPassed }: { readonly refused: () => RefusedCalls; readonly onPassed: () => void },
  ): void {
    const goOn = (taken: Taken): void => {
      if (taken.status === 'passed') onPassed()
      else if (taken.status === 'limited') refuseAdmitted(admitted, { kind: 'limited', limited: taken }, refused())
      else refuseAdmitted(admitted, { kind: 'uncounted' }, refused())
    }
    if (taken instanceof Promise) this.#failing(admitted, taken.then(goOn))
    else goOn(taken)
  }

  #exchange(admitted: Admitted, forwarded: Forwarded): void {
    this.#take(admitted, forwarded, () => this.#exchangePassed(admitted, forwarded))
  }

  #exchangePassed(admitted: Admitted, forwarded: Forwarded): void {
    const { read, body, isSticky } = forwarded
    const { address, request, response, tokenHash, bill } = admitted
    const { protocol, place } = address
    const refusing: ExchangeOptions['refuse'] = (refusal, sentBytes) =>
      refuseAdmitted(admitted, refusal, { ...forwarded, sentBytes })
    // Nobody has done anything for who has left while the counters were asked.
    if (response.destroyed) {
      bill?.failed(CLIENT_LEFT)
      return
    }
    const group = this.#groupOf(admitted)
    if (group === undefined) {
      refusing({ kind: 'no-upstream' })
      return
    }
    if (forwarded.request.isEndless) {
      const { chain } = place
      const closeStream = this.#streams.open(tokenHash, `${place.name} ${admitted.order ?? ''}`)
      if (closeStream === undefined) {
        refusing({ kind: 'streams' })
        return
      }
      response.once('close', closeStream)
      const end = (): void => void response.destroy()
      response.once('close', this.#heldOpen.hold({ tokenHash, chain, end, leave: end }))
    }
    const isConsistent = request.headers[CONSISTENT]?.toString().toLowerCase() === 'true'
    const isOfOne = isConsistent || forwarded.node !== undefined
    const options: ExchangeOptions = {
      group,
      request: forwarded.request,
      response,
      isRepeatable: forwarded.isRepeatable,
      expected: forwarded.expected,
      sent: forwarded.sent,
      node: forwarded.node,
      answers: forwarded.answers,
      editAnswer: forwarded.editAnswer,
      key: isConsistent || isSticky === true ? tokenHash : undefined,
      isNamed: isConsistent,
      isArchival:
        group.hasArchives && isArchival({ protocol, path: address.path, route: admitted.route }, forwarded, group),
      headProbe: group.isSeveral && !isOfOne ? forwarded.headProbe : undefined,
      hedgeMs: hedgeMsOf(protocol, forwarded, group),
      ownHeaders: request.headers.origin === undefined ? [] : ANY_ORIGIN,
      onUnanswered: read?.isBatch === true ? unansweredIn(read, bill) : undefined,
      bill,
      refuse: refusing,
    }
    if (read === undefined || body === undefined) {
      const exchange = new Exchange(options)
      forwarded.onSent?.(exchange)
    } else sendCalls(options, { protocol, read, body, rules: rulesOf(protocol) }, this.#reads)
  }

  #groupOf({ address: { protocol, network }, service, order }: Admitted): UpstreamGroup | undefined {
    return this.#parts.upstreams.groupOf({ protocol: protocol.name, network, service: service.name, order })
  }

  /** What is not expected is told in the log, and to the client as a failure of ours. */
  #failing(admitted: Admitted, task: Promise<void>): void {
    task.catch((error: unknown) => this.#fail(admitted, error))
  }

  #trying(admitted: Admitted, work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#fail(admitted, error)
    }
  }

  #fail(admitted: Admitted, error: unknown): void {
    refuseAdmitted(admitted, tellFailure(this.#parts.log, error, admitted.address.place.name))
  }
}

/** Native calls go by verb and path. Nobody looks for contracts in them: where there may be some, they are for keys without a list of these. */
function refusalOfNative({ route, request, address, allowed }: Admitted): Refusal | undefined {
  if (route.form === 'json-rpc') return undefined
  const { isMethod, contracts } = allowed
  const method = callName(route, verbOf(request))
  if (isMethod?.(method) === false) return { kind: 'method', method }
  if (contracts === undefined || address.protocol.methods?.contracts === undefined) return undefined
  return { kind: 'not-allowed', of: { what: 'contract', named: `${method} may name any` } }
}

/** As routes have it. */
function verbOf({ method = '' }: ClientRequest): string {
  return method === 'HEAD' ? 'GET' : method
}

/** What is known of a request that is refused. */
interface RefusedCalls {
  readonly read?: Calls | Unreadable
  readonly prepared?: PreparedCalls
  readonly sentBytes?: number | undefined
}

function refuseAdmitted(
  { request, response, route, bill }: Admitted,
  refusal: Refusal,
  { read, prepared, sentBytes = 0 }: RefusedCalls = {},
): void {
  const told = tellRefusal(refusal)
  const bytes = refuse({ request, response, isRpc: route.form === 'json-rpc' }, told, read, prepared)
  bill?.failed(told.status, sentBytes + bytes)
}

/** Where no call is left to send. */
function sendAnswers(
  { request, response, bill }: Admitted,
  { isBatch }: Calls,
  { answers, status }: PreparedCalls,
): void {
  const body = isBatch ? listOf(answers) : (answers[0] as OwnAnswer).text
  // Nobody hears an answer who has left while the counters were asked.
  if (response.destroyed) {
    bill?.answered(CLIENT_LEFT, 0)
    return
  }
  const bytes = send(request, response, { status, body })
  bill?.answered(status, bytes)
}
