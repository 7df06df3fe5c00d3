import type { SocketHandler, UpstreamGroup, UpstreamSocket } from '../../infra/ports/upstreams.ts'
import { CLOSE, type ClientLink } from './client-link.ts'

interface Waiting {
  readonly text: Buffer
  readonly onOut: () => void
}

/** A node's socket for one client alone, where what is told names no subscription that it belongs to. */
export class Relay implements SocketHandler {
  readonly #group: UpstreamGroup
  readonly #client: ClientLink
  readonly #tried: string[] = []
  #upstream: UpstreamSocket | undefined
  #isOpen = false
  #isPaused = false
  /** Until it is open. */
  #waiting: Waiting[] = []

  constructor(group: UpstreamGroup, client: ClientLink) {
    this.#group = group
    this.#client = client
  }

  /** `onOut` is called when it is on its way to the node. */
  send(text: Buffer, onOut: () => void): void {
    if (this.#isOpen) this.#upstream?.send(text, onOut)
    else this.#waiting.push({ text, onOut })
    if (this.#upstream === undefined) this.#connect()
  }

  end(): void {
    this.#upstream?.close()
    this.#waiting = []
  }

  onOpen(): void {
    this.#isOpen = true
    for (const { text, onOut } of this.#waiting) this.#upstream?.send(text, onOut)
    this.#waiting = []
  }

  onMessage(text: Buffer): void {
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
    this.#upstream = this.#group.connect({ tried: this.#tried }, this)
    if (this.#upstream === undefined) this.#client.close(CLOSE.later, 'no node of this network is reached')
    else this.#tried.push(this.#upstream.id)
  }
}
