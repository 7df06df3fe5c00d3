import { isUtf8 } from 'node:buffer'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Log } from '../../infra/ports/log.ts'
import type { UpstreamGroup } from '../../infra/ports/upstreams.ts'
import type { Protocol, Route, Service } from '../../schemas/protocols/protocol.ts'
import type { AllowedUse } from '../http/allowed-use.ts'
import { type Bill, CLIENT_LEFT } from './bill.ts'
import { type Call, type Calls, type Item, readCalls, type Unreadable } from './calls.ts'
import { CLOSE, ClientLink } from './client-link.ts'
import type { ExchangeOptions } from './exchange.ts'
import { hedgeMsOf } from './forwarded.ts'
import { HeldBytes } from './held-bytes.ts'
import { isDeeper } from './json-text.ts'
import type { MessageSink } from './message-sink.ts'
import type { Meter } from './meter.ts'
import { type MethodRules, rulesOf } from './method-rules.ts'
import { needOldState } from './old-states.ts'
import { listOf, type OwnAnswer } from './own-among.ts'
import { type PreparedCalls, type Preparing, prepareCalls, refusalBody, refusalOfCall } from './prepare-calls.ts'
import { type Refusal, rpcRefusal, tellFailure, tellRefusal } from './refusals.ts'
import { Relay } from './relay.ts'
import { sendCalls, toForwarded, unansweredIn } from './send-calls.ts'
import type { SharedReads } from './shared-reads.ts'
import type { ClientSubscriptions } from './subscriptions/client-subscriptions.ts'
import { SUBSCRIBE_DEPTH_MAX } from './subscriptions/subscribe-call.ts'
import type { Subscriptions } from './subscriptions/subscriptions.ts'
import { OTHER_METHOD, type UsageOf } from './usage.ts'

export interface ClientSocketOptions {
  readonly socket: WebSocket
  /** What the socket writes to. */
  readonly stream: Duplex
  readonly protocol: Protocol
  readonly network: string
  /** As it is configured now. */
  readonly groupOf: () => UpstreamGroup | undefined
  readonly tokenHash: string
  readonly account: string
  /** Of the key. */
  readonly allowed: AllowedUse
  /** Id of the order that the key is for; undefined: it is for what all share. */
  readonly order: string | undefined
  readonly meter: Meter | undefined
  readonly subscriptions: Subscriptions
  readonly reads: SharedReads
  readonly log: Log
}

/** The next message of a socket is read when an answer is out. */
export const CALLS_IN_FLIGHT_MAX = 64
/** Of a client that has gone without a word: it hears a ping, or the one after it. */
const PINGS_UNANSWERED_MAX = 1

/** Commands of XRP that are answered again and again. */
const RELAYED_SUBSCRIPTIONS: ReadonlySet<string> = new Set(['subscribe', 'path_find'])

/** What a client hears in place of an answer: text of JSON. Undefined where it wants none. */
type Answer = string | Buffer | undefined

interface ReadMessage {
  readonly read: Calls
  readonly prepared?: Pick<PreparedCalls, 'own' | 'answers'>
  readonly message: Buffer
  readonly bill: Bill | undefined
}

/** One client's WebSocket: each message a call or a batch, refused as over HTTP, answered in whatever order answers come. */
export class ClientSocket {
  readonly #options: ClientSocketOptions
  readonly #client: ClientLink
  readonly #of: UsageOf
  readonly #rules: MethodRules
  readonly #relay: Relay | undefined
  readonly #subscriptions: ClientSubscriptions | undefined
  readonly #held = new HeldBytes()
  /** What was read before reading was held back. */
  readonly #waiting: Buffer[] = []
  /** What is told begins with the answer, which that to a batch would hold back: subscribing goes alone. */
  readonly #aloneWhy = (method: string): string | undefined =>
    this.#isOfSubscriptions(method) ? 'a batch neither subscribes nor unsubscribes' : undefined
  /** Whether it has asked its own node to tell it something: whether it is told still is not known here. */
  #hasSubscribed = false
  #inFlight = 0
  #pingsUnanswered = 0
  #heardMs = performance.now()
  /** Closes it when nothing is in flight any more; undefined: it stays. */
  #leave: (() => void) | undefined
  /** At the last ping. */
  #unsentBytes = 0

  constructor(options: ClientSocketOptions) {
    const { socket, stream, protocol, network, groupOf, account, tokenHash } = options
    this.#options = options
    this.#of = { account, tokenHash, place: `${protocol.name}/${network}` }
    this.#client = new ClientLink(socket, stream)
    this.#rules = rulesOf(protocol)
    const onTold = (method: string, bytes: number): void => options.meter?.push(this.#of, method, bytes)
    const isRelayed = protocol.webSocket?.methodKey === 'command'
    this.#relay = isRelayed ? new Relay(groupOf, this.#client, (bytes) => onTold(OTHER_METHOD, bytes)) : undefined
    this.#subscriptions = options.subscriptions.open({ ...options, onTold }, this.#client)
    socket.on('message', (data: Buffer) => this.#onMessage(data))
    socket.on('pong', () => {
      this.#pingsUnanswered = 0
    })
    // A pong goes out for each; who does not read them is not to be kept.
    socket.on('ping', () => {
      if (this.#client.isFull) socket.terminate()
    })
    socket.on('error', () => {}) // `close` follows, and the client was sent the code that says why
    socket.once('close', () => this.#end())
  }

  /** As `performance.now()`: when the client has said something; now, where it waits for something. */
  get heardMs(): number {
    const isTold = this.#relay !== undefined || (this.#subscriptions?.size ?? 0) > 0
    return this.#inFlight > 0 || isTold ? performance.now() : this.#heardMs
  }

  get account(): string {
    return this.#of.account
  }

  close(code: number, reason: string): void {
    this.#client.close(code, reason)
  }

  /** Closes it if it is told anything without asking, once what is being refused has been answered. */
  endSubscriptions(reason: string): void {
    setImmediate(() => {
      if (this.#hasSubscribed || (this.#subscriptions?.size ?? 0) > 0) this.#client.close(CLOSE.policy, reason)
    })
  }

  /** Closes it once what was asked is answered, and hears nothing more. */
  leave(code: number, reason: string): void {
    this.#leave = () => this.#client.close(code, reason)
    this.#waiting.length = 0
    this.#next()
  }

  /** To be called now and then: ends it where the client has not answered the last but one, or has read nothing meanwhile. */
  ping(): void {
    const { socket } = this.#options
    const { unsentBytes, isFull } = this.#client
    const hasReadNothing = isFull && this.#unsentBytes > 0 && unsentBytes >= this.#unsentBytes
    this.#unsentBytes = unsentBytes
    if (hasReadNothing || this.#pingsUnanswered > PINGS_UNANSWERED_MAX) socket.terminate()
    else if (this.#client.isOpen) {
      // What is held back is not heard.
      if (!socket.isPaused) this.#pingsUnanswered++
      socket.ping()
    }
  }

  #onMessage(message: Buffer): void {
    this.#heardMs = performance.now()
    this.#pingsUnanswered = 0
    // Who is being closed may go on talking until the close is answered.
    if (this.#leave !== undefined || !this.#client.isOpen) return
    if (this.#mayBegin()) this.#begin(message)
    else this.#waiting.push(message)
    if (!this.#mayBegin()) this.#options.socket.pause()
  }

  #mayBegin(): boolean {
    return this.#inFlight < CALLS_IN_FLIGHT_MAX && !this.#client.isFull && !this.#held.isFull
  }

  #begin(message: Buffer): void {
    const { protocol, log } = this.#options
    const read = readCalls(message, protocol.webSocket?.methodKey)
    const calls = read.status === 'read' ? read.items.length : 1
    this.#inFlight += calls
    this.#held.hold(message.length)
    const onOut = (): void => {
      this.#inFlight -= calls
      this.#held.release(message.length)
      this.#next()
    }
    const bill = this.#options.meter?.open(this.#of)
    if (read.status === 'unreadable') {
      bill?.addRequestBytes(message.length)
      this.#client.answer(tellUnreadable(read, bill), onOut)
    } else
      this.#answer({ read, message, bill }, onOut).catch((error: unknown) => {
        this.#client.answer(refuseAll({ read, bill }, tellFailure(log, error, this.#of.place)), onOut)
      })
  }

  #next(): void {
    if (this.#inFlight === 0) this.#leave?.()
    if (!this.#client.isOpen) this.#waiting.length = 0
    while (this.#waiting.length > 0 && this.#mayBegin()) this.#begin(this.#waiting.shift() as Buffer)
    if (this.#mayBegin()) this.#options.socket.resume()
  }

  /** `onOut` is called once, when all is done. */
  async #answer(asked: ReadMessage, onOut: () => void): Promise<void> {
    const { read, message, bill } = asked
    const { allowed, groupOf } = this.#options
    const hasNode = (id: string): boolean => groupOf()?.has(id) !== false
    const preparing = { rules: this.#rules, publicAccess: undefined, allowed, hasNode, aloneWhy: this.#aloneWhy }
    const prepared =
      this.#relay === undefined ? prepareCalls(message, read, preparing) : prepareForRelay(message, read, preparing)
    bill?.asks(read.items, message.length, prepared.own)
    const [first] = read.calls
    if (prepared.body !== undefined && !read.isBatch && this.#isOfSubscriptions((first as Call).method)) {
      await this.#answerSubscriber(asked, onOut)
      return
    }
    const refusal = await this.#take(bill)
    if (refusal !== undefined) this.#client.answer(refuseAll({ ...asked, prepared }, refusal), onOut)
    else if (prepared.body === undefined) this.#answerHere(bill, tellOwn(read, prepared.answers), onOut)
    else if (this.#relay !== undefined) {
      this.#hasSubscribed ||= RELAYED_SUBSCRIPTIONS.has((first as Call).method)
      this.#relay.send({ text: prepared.body, bill, onOut })
    } else {
      const answer = await this.#held.withSink((sink) => this.#ask(asked, prepared as PreparedCalls, sink))
      if (answer === undefined) onOut()
      else this.#answerHeld(answer, onOut)
    }
  }

  #answerHeld(answer: string | Buffer, onOut: () => void): void {
    const { length } = answer
    this.#held.hold(length)
    this.#client.answer(answer, () => {
      this.#held.release(length)
      onOut()
    })
  }

  #answerHere(bill: Bill | undefined, answer: string, onOut: () => void): void {
    bill?.answered(200, Buffer.byteLength(answer))
    this.#client.answer(answer, onOut)
  }

  #isOfSubscriptions(method: string): boolean {
    return this.#subscriptions?.subscribes(method) === true || this.#subscriptions?.unsubscribes(method) === true
  }

  async #answerSubscriber(asked: ReadMessage, onOut: () => void): Promise<void> {
    const { read, message, bill } = asked
    const [call] = read.calls as [Call, ...Call[]]
    const subscriptions = this.#subscriptions as ClientSubscriptions
    if (call.params !== undefined && isDeeper(message, call.params.from, SUBSCRIBE_DEPTH_MAX)) {
      const refusal: Refusal = { kind: 'unreadable', fault: 'request', why: 'the parameters are nested too deep' }
      this.#client.answer(refuseAll(asked, refusal), onOut)
    } else if (subscriptions.unsubscribes(call.method)) {
      const refusal = await this.#take(bill)
      if (refusal === undefined) this.#answerHere(bill, subscriptions.unsubscribe(message, call), onOut)
      else this.#client.answer(refuseAll(asked, refusal), onOut)
    } else if (!subscriptions.reserve()) this.#client.answer(refuseAll(asked, { kind: 'subscriptions' }), onOut)
    else if (!(await this.#subscribe(asked, call, onOut))) subscriptions.giveUp()
  }

  /** Fills the place that is reserved; false: it is answered without. */
  async #subscribe(asked: ReadMessage, call: Call, onOut: () => void): Promise<boolean> {
    const { message, bill } = asked
    const subscriptions = this.#subscriptions as ClientSubscriptions
    try {
      const refusal = await this.#take(bill)
      if (refusal === undefined && this.#client.isOpen) {
        subscriptions.subscribe(message, call, { onOut, bill })
        return true
      }
      if (refusal !== undefined) this.#client.answer(refuseAll(asked, refusal), onOut)
      else {
        bill?.answered(CLIENT_LEFT, 0)
        onOut()
      }
    } catch (error) {
      subscriptions.giveUp()
      throw error
    }
    return false
  }

  /** Of the key's plan, before anything is asked of a node; undefined: it may be. */
  async #take(bill: Bill | undefined): Promise<Refusal | undefined> {
    const taken = await bill?.take()
    if (taken === undefined || taken.status === 'passed') return undefined
    return taken.status === 'limited' ? { kind: 'limited', limited: taken } : { kind: 'uncounted' }
  }

  async #ask(unprepared: ReadMessage, prepared: PreparedCalls, sink: MessageSink): Promise<Answer> {
    const asked = { ...unprepared, prepared }
    const { read, message, bill } = asked
    const { protocol, groupOf, tokenHash } = this.#options
    const group = groupOf()
    if (group === undefined) return refuseAll(asked, { kind: 'no-upstream' })
    let refused: string | undefined
    const refuse = (refusal: Refusal): void => {
      refused = refuseAll(asked, refusal)
      sink.destroy()
    }
    const [service] = protocol.services as [Service, ...Service[]]
    const ofBody = { read, prepared, body: message }
    const forwarded = toForwarded({ rules: this.#rules, service, path: rpcPathOf(protocol), ...ofBody })
    const options: ExchangeOptions = {
      ...{ ...forwarded, group, response: sink, refuse },
      key: prepared.isSticky ? tokenHash : undefined,
      isNamed: false,
      isArchival: group.hasArchives && needOldState(protocol, group, { body: message, calls: read.calls }),
      headProbe: group.isSeveral && prepared.node === undefined ? forwarded.headProbe : undefined,
      hedgeMs: hedgeMsOf(protocol, forwarded, group),
      ownHeaders: [],
      onUnanswered: unansweredIn(read, bill),
    }
    sendCalls(options, { protocol, read, body: message, rules: this.#rules }, this.#options.reads)
    const answer = await sink.answer
    if (refused !== undefined) return refused
    if (!this.#client.isOpen) {
      bill?.answered(CLIENT_LEFT, 0)
      return undefined
    }
    if (answer === 'too-long') return refuseAll(asked, { kind: 'long-answer' })
    if (answer === 'gone' || !isUtf8(answer)) return refuseAll(asked, { kind: 'bad-answer' })
    bill?.answered(sink.status, answer.length)
    return answer.length === 0 ? undefined : answer
  }

  #end(): void {
    this.#held.destroySinks()
    this.#relay?.end()
    this.#subscriptions?.end()
    this.#waiting.length = 0
  }
}

/** Where nodes take the calls by HTTP that a client sends over WebSocket. */
function rpcPathOf({ services: [service] }: Protocol): string {
  const { path, nodePath } = (service as Service).routes.find(({ form }) => form === 'json-rpc') as Route
  return nodePath ?? path
}

/** What is sent as it came, alone: XRP has no batches. */
function prepareForRelay(
  message: Buffer,
  { isBatch, calls, items }: Calls,
  preparing: Preparing,
): Pick<PreparedCalls, 'body' | 'answers' | 'own'> {
  const [first] = calls as [Call, ...Call[]]
  const why = 'the protocol has no batches'
  const refusal: Refusal | undefined = isBatch
    ? { kind: 'unreadable', fault: 'request', why }
    : refusalOfCall(message, first, preparing)
  if (refusal === undefined) return { body: message, answers: [], own: new Map() }
  const told = tellRefusal(refusal)
  return {
    body: undefined,
    answers: items.map(({ id }) => ({ text: rpcRefusal(told, id), before: 0 })),
    own: new Map<Item, number>(items.map((item) => [item, told.status])),
  }
}

function tellUnreadable({ fault, why, id }: Unreadable, bill: Bill | undefined): string {
  const told = tellRefusal({ kind: 'unreadable', fault, why })
  const answer = rpcRefusal(told, id)
  bill?.failed(told.status, Buffer.byteLength(answer))
  return answer
}

/** The refusal of each item, with its id: what was taken for them is given back. */
function refuseAll({ read, prepared, bill }: Omit<ReadMessage, 'message'>, refusal: Refusal): string {
  const told = tellRefusal(refusal)
  const answer = refusalBody(read, told, prepared)
  bill?.failed(told.status, Buffer.byteLength(answer))
  return answer
}

function tellOwn({ isBatch }: Calls, answers: readonly OwnAnswer[]): string {
  return isBatch ? listOf(answers) : (answers[0] as OwnAnswer).text
}
