import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { KEEP_ALIVE_TIMEOUT_MS } from '../../http/limits.ts'
import { type PlainRequest, PlainRequestReader } from './plain-request.ts'
import { PlainResponse, type Writes } from './plain-response.ts'

/** Answers the request; false: it is not answered here, and nothing has become of it. */
type Handle = (request: PlainRequest, response: PlainResponse) => boolean

const LOOK_MS = 1_000
/** Of few answers none waits for others. */
const WRITTEN_AT_ONCE_MAX = 4
/** Longer than clients are told, so that they do not send over one that is being closed. */
const IDLE_LOOKS_MAX = KEEP_ALIVE_TIMEOUT_MS / LOOK_MS + 1

/**
 * Reads the connections of a server before Node does: plain requests of the gateway are answered without Node's parser and streams. Whatever
 * else comes makes the connection Node's, with these bytes and all that follow.
 */
export class PlainConnections {
  readonly #connections = new Set<PlainConnection>()
  #looking: NodeJS.Timeout | undefined
  #isStopping = false
  readonly #writes = new TurnWrites()

  constructor(server: Server, handle: Handle) {
    const [listener, ...others] = server.listeners('connection')
    if (listener === undefined || others.length > 0) throw new Error('the server has not one listener to connections')
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      const connection = new PlainConnection(socket, {
        handle,
        writes: this.#writes,
        leave: () => listener.call(server, socket),
        onGone: () => this.#connections.delete(connection),
        isStopping: () => this.#isStopping,
      })
      this.#connections.add(connection)
      this.#looking ??= setInterval(() => this.#look(), LOOK_MS).unref()
    })
  }

  /** Ends what is idle, and each other one behind its answer. */
  stop(): void {
    this.#isStopping = true
    for (const connection of this.#connections) connection.endIdle(0)
  }

  /** Ends all. */
  cut(): void {
    for (const connection of this.#connections) connection.destroy()
  }

  #look(): void {
    for (const connection of this.#connections) connection.endIdle(this.#isStopping ? 0 : IDLE_LOOKS_MAX)
    if (this.#connections.size > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }
}

/** Has the writes of one turn of the loop done together: clients that are woken by each of them take us more time than all else. */
class TurnWrites implements Writes {
  readonly #writes: (() => void)[] = []
  /** Answers that are not out. */
  underWay = 0

  write(write: () => void): void {
    if (this.underWay <= WRITTEN_AT_ONCE_MAX) write()
    else if (this.#writes.push(write) === 1) setImmediate(() => this.#writeAll())
  }

  #writeAll(): void {
    for (const write of this.#writes.splice(0)) write()
  }
}

interface PlainConnectionOptions {
  readonly handle: Handle
  readonly writes: TurnWrites
  /** Makes it Node's. */
  readonly leave: () => void
  /** It is closed, or Node's. */
  readonly onGone: () => void
  readonly isStopping: () => boolean
}

class PlainConnection {
  readonly #socket: Socket
  readonly #reader: PlainRequestReader
  readonly #options: PlainConnectionOptions
  #response: PlainResponse | undefined
  /** Came before the answer to what was before it was out. */
  #next: Buffer | undefined
  #isUsed = false
  #idleLooks = 0

  constructor(socket: Socket, options: PlainConnectionOptions) {
    this.#socket = socket
    this.#reader = new PlainRequestReader(socket)
    this.#options = options
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    socket.on('error', onError)
  }

  /** Ends it where nothing is asked, and nothing was in so many looks. One over which nothing was asked is Node's, with its own time for that. */
  endIdle(looksMax: number): void {
    if (this.#response !== undefined || ++this.#idleLooks <= looksMax) return
    if (this.#isUsed) this.#socket.destroy()
    else this.#leave(undefined)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#response !== undefined) {
      // Nothing more is read before it is its turn.
      this.#next = this.#next === undefined ? bytes : Buffer.concat([this.#next, bytes])
      this.#socket.pause()
      return
    }
    this.#idleLooks = 0
    const request = this.#reader.read(bytes)
    if (request !== undefined) {
      this.#isUsed = true
      const response = new PlainResponse(this.#socket, this.#options.writes, this.#onOut)
      this.#response = response
      this.#options.writes.underWay++
      if (this.#options.handle(request, response)) return
      this.#end()
    }
    this.#leave(bytes)
  }

  readonly #onOut = (): void => {
    const response = this.#response
    // Of a connection that is lost its end tells.
    if (response === undefined || this.#socket.destroyed) return
    this.#end()
    response.close()
    if (!response.shouldKeepAlive || this.#options.isStopping()) this.#socket.destroySoon()
    else if (this.#next !== undefined) this.#leave(this.#next)
  }

  /** Who hears nothing any more is not answered: so it is with Node. */
  readonly #onEnd = (): void => void this.#socket.destroy()

  readonly #onClose = (): void => {
    this.#options.onGone()
    const response = this.#response
    if (response === undefined) return
    this.#end()
    response.destroyed = true
    response.close()
  }

  #end(): void {
    this.#response = undefined
    this.#options.writes.underWay--
  }

  #leave(bytes: Buffer | undefined): void {
    const socket = this.#socket
    this.#options.onGone()
    socket.pause()
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('close', this.#onClose)
    socket.off('error', onError)
    if (bytes !== undefined) socket.unshift(bytes)
    this.#options.leave()
    socket.resume()
  }
}

/** Its end follows, and is all that matters. */
function onError(): void {}
