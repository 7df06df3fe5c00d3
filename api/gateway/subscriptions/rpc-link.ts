import type { SocketHandler, UpstreamGroup, UpstreamSocket, Wanted } from '../../../infra/ports/upstreams.ts'
import { isDeeper, membersOf, skipBlanks } from '../json-text.ts'

/** Of calls of ours: a node that takes longer over its WebSocket is as good as lost. */
const ANSWER_MS_MAX = 10_000
/** Levels of what a node tells: blocks and logs have a few, and what has thousands cannot be written again. */
const TOLD_DEPTH_MAX = 256

export interface RpcAnswer {
  readonly result?: unknown
  readonly error?: unknown
}

/** What a node tells of a subscription: its text around the subscription's id. */
export interface Notification {
  /** The node's id of the subscription, as JSON. */
  readonly id: string
  readonly before: string
  readonly after: string
  readonly result: unknown
}

interface Waiting {
  readonly settle: (answer: RpcAnswer | undefined) => void
  readonly timer: NodeJS.Timeout
}

/** A WebSocket to a node that many clients share: calls have ids of ours, so that no client's can cross another's. */
export class RpcLink implements SocketHandler {
  /** Resolves with whether there was a socket. */
  readonly opened: Promise<boolean>
  /** Resolves when there is none any more, whoever has ended it. */
  readonly lost: Promise<void>
  readonly #onNotification: (notification: Notification) => void
  readonly #waiting = new Map<number, Waiting>()
  readonly #socket: UpstreamSocket | undefined
  readonly #settleOpened: (isOpen: boolean) => void
  readonly #settleLost: () => void
  #isLost = false
  #lastId = 0

  constructor(group: UpstreamGroup | undefined, wanted: Wanted, onNotification: (notification: Notification) => void) {
    const [opened, lost] = [Promise.withResolvers<boolean>(), Promise.withResolvers<void>()]
    this.opened = opened.promise
    this.lost = lost.promise
    this.#settleOpened = opened.resolve
    this.#settleLost = lost.resolve
    this.#onNotification = onNotification
    this.#socket = group?.connect(wanted, this)
    if (this.#socket === undefined) this.onLost()
  }

  /** Of the upstream; undefined: there is none left to connect to. */
  get id(): string | undefined {
    return this.#socket?.id
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /**
   * `params` is JSON, or undefined where the call has none. Resolves with undefined when the link is lost. `onAnswer` is called as the
   * answer comes: behind all that the node has told before, and before what it tells next.
   */
  call(method: string, params: string | undefined, onAnswer?: () => void): Promise<RpcAnswer | undefined> {
    if (this.#isLost) return Promise.resolve(undefined)
    const id = ++this.#lastId
    const { promise, resolve } = Promise.withResolvers<RpcAnswer | undefined>()
    const settle = (answer: RpcAnswer | undefined): void => {
      if (answer !== undefined) onAnswer?.()
      resolve(answer)
    }
    this.#waiting.set(id, { settle, timer: setTimeout(() => this.close(), ANSWER_MS_MAX) })
    const more = params === undefined ? '' : `,"params":${params}`
    this.#socket?.send(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)}${more}}`)
    return promise
  }

  close(): void {
    this.#socket?.close()
    this.onLost()
  }

  onOpen(): void {
    this.#settleOpened(true)
  }

  onMessage(message: Buffer): void {
    const parsed = parseObject(message)
    if (parsed === undefined) return // no node speaks so
    const waiting = typeof parsed.id === 'number' ? this.#waiting.get(parsed.id) : undefined
    if (waiting !== undefined) {
      this.#waiting.delete(parsed.id as number)
      clearTimeout(waiting.timer)
      waiting.settle(parsed as RpcAnswer)
    } else if (parsed.id === undefined) {
      const notification = readNotification(message, parsed)
      if (notification !== undefined) this.#onNotification(notification)
    }
  }

  onLost(): void {
    if (this.#isLost) return
    this.#isLost = true
    this.#settleOpened(false)
    this.#settleLost()
    for (const { settle, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      settle(undefined)
    }
    this.#waiting.clear()
  }
}

type Members = Readonly<Record<string, unknown>>

function parseObject(text: Buffer): Members | undefined {
  if (isDeeper(text, 0, TOLD_DEPTH_MAX)) return undefined
  try {
    const parsed: unknown = JSON.parse(text.toString())
    return typeof parsed === 'object' && parsed !== null ? (parsed as Members) : undefined
  } catch {
    // What is no JSON tells nothing.
    return undefined
  }
}

/** Cuts the subscription's id out of the text, and leaves all other bytes as they are. */
function readNotification(text: Buffer, { params }: Members): Notification | undefined {
  if (typeof params !== 'object' || params === null) return undefined
  const { subscription, result } = params as Members
  if (typeof subscription !== 'string' && typeof subscription !== 'number') return undefined
  const member = (from: number, name: string) =>
    membersOf(text, from).findLast(({ keyFrom, keyTo }) => text.toString('latin1', keyFrom, keyTo) === `"${name}"`)
  const outer = member(skipBlanks(text, 0), 'params')
  const id = outer === undefined ? undefined : member(outer.from, 'subscription')
  if (id === undefined) return undefined
  const [before, after] = [text.toString('utf8', 0, id.from), text.toString('utf8', id.to)]
  return { id: JSON.stringify(subscription), before, after, result }
}
