import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import { Together } from '../../schemas/together.ts'
import { MESSAGE_BYTES_MAX } from './message-sink.ts'

/** Of what is told without being asked; a client that reads more slowly than it is told is closed: nothing is left out silently. */
export const UNSENT_BYTES_MAX = 1024 * 1024
/** Reasons of a close frame are no longer (RFC 6455, section 5.5). */
const REASON_BYTES_MAX = 123

/** Codes of RFC 6455, section 7.4.1, and the registry that it has begun. */
export const CLOSE = { goingAway: 1001, policy: 1008, internal: 1011, restart: 1012, later: 1013 } as const

/** The way to a client, which never holds more than it may. */
export class ClientLink {
  readonly #socket: WebSocket
  readonly #together: Together

  /** `stream` is what the socket writes to. */
  constructor(socket: WebSocket, stream: Duplex) {
    this.#socket = socket
    this.#together = new Together(stream)
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN
  }

  get unsentBytes(): number {
    return this.#socket.bufferedAmount
  }

  get isFull(): boolean {
    return this.unsentBytes > UNSENT_BYTES_MAX
  }

  /** Something that the client has not asked for now; false: it is not told. */
  tell(text: string | Buffer): boolean {
    if (!this.isOpen) return false
    if (this.isFull) {
      this.close(CLOSE.policy, 'the client reads more slowly than it is told')
      return false
    }
    this.#together.hold()
    this.#socket.send(text, { binary: false })
    return true
  }

  /** An answer may be longer; `onOut` is called when it is out, or the client is gone. */
  answer(text: string | Buffer, onOut: () => void): void {
    if (this.isOpen && this.unsentBytes > MESSAGE_BYTES_MAX)
      this.close(CLOSE.policy, 'the client does not read its answers')
    this.#together.hold()
    this.#socket.send(text, { binary: false }, () => onOut())
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, Buffer.from(reason).subarray(0, REASON_BYTES_MAX).toString())
  }
}
