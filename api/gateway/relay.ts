import type { SocketHandler, UpstreamGroup, UpstreamSocket } from '../../infra/ports/upstreams.ts'
import { type Bill, CLIENT_LEFT } from './bill.ts'
import { CLOSE, type ClientLink } from './client-link.ts'

interface Waiting {
  readonly text: Buffer
  readonly bill: Bill | undefined
  /** Called when it is on its way to the node. */
  readonly onOut: () => void
}

/** A node's socket for one client alone, where what is told names no subscription that it belongs to. */
export class Relay implements SocketHandler {
  readonly #groupOf: () => UpstreamGroup | undefined
  readonly #client: ClientLink
  readonly #onTold: (bytes: number) => void
  readonly #tried: string[] = []
  #upstream: UpstreamSocket | undefined
  #isOpen = false
  #isPaused = false
  /** Until it is open. */
  readonly #waiting: Waiting[] = []

  /** `onTold` hears of all that the node says: what answers which call is not looked for. */
  constructor(groupOf: () => UpstreamGroup | undefined, client: ClientLink, onTold: (bytes: number) => void) {
    this.#groupOf = groupOf
    this.#client = client
    this.#onTold = onTold
  }

  send(waiting: Waiting): void {
    if (this.#isOpen) this.#pass(waiting)
    else this.#waiting.push(waiting)
    if (this.#upstream === undefined) this.#connect()
  }

  end(): void {
    this.#upstream?.close()
    for (const { bill } of this.#waiting.splice(0)) bill?.answered(CLIENT_LEFT, 0)
  }

  onOpen(): void {
    this.#isOpen = true
    for (const waiting of this.#waiting.splice(0)) this.#pass(waiting)
  }

  onMessage(text: Buffer): void {
    this.#onTold(text.length)
    this.#client.answer(text, () => {
      if (!this.#isPaused || this.#client.isFull) return
      this.#isPaused = false
      this.#upstream?.flow.resume()
    })
    if (!this.#client.isFull || this.#isPaused) return
    this.#isPaused = true
    this.#upstream?.flow.pause()
  }

  onLost(): void {
    // What was sent, and what was subscribed to, went with it.
    if (this.#isOpen) this.#client.close(CLOSE.restart, 'the node is lost')
    else this.#connect()
  }

  #connect(): void {
    this.#upstream = this.#groupOf()?.connect({ tried: this.#tried }, this)
    if (this.#upstream === undefined) {
      for (const { bill } of this.#waiting.splice(0)) bill?.failed(503)
      this.#client.close(CLOSE.later, 'no node of this network is reached')
    } else this.#tried.push(this.#upstream.id)
  }

  /** What becomes of it is not known here. */
  #pass({ text, bill, onOut }: Waiting): void {
    bill?.answered(200, 0)
    this.#upstream?.send(text, onOut)
  }
}
