import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

const TRICKLE_EVERY_MS = 100
const EVENTS = '/eth/v1/events'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly accept: string
}

export interface Told {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** `cut` breaks the connection after half of the body; `trickle` sends a byte now and then, for ever. */
export type Reply = Told | 'hang' | 'reset' | { readonly cut: Told } | { readonly trickle: Told }

/** What the true node answers to the question, or to the same question about something else. */
export type Truth = (path?: string, accept?: string) => Promise<Told>

/** What a node does wrong. */
export interface NodeFault {
  /** The questions that it is about. */
  readonly of: (asked: Asked) => boolean
  /** How many of them it lasts; all of them where it is not said. */
  readonly times?: number
  readonly reply: (asked: Asked, truth: Truth) => Reply | Promise<Reply>
}

/** What becomes of a piece of the event stream; undefined ends the stream. */
export type ChangeEvents = (text: string) => string | undefined

/** The node that tells the truth. What it said is kept once its history does not change any more. */
export class TrueNode implements AsyncDisposable {
  readonly url: string
  readonly #pool: Pool
  readonly #kept = new Map<string, Promise<Told>>()
  #isSettled = false

  constructor(url: string) {
    this.url = url
    this.#pool = new Pool(url, { bodyTimeout: 0 })
  }

  /** Whether its history does not change for now. */
  set isSettled(isSettled: boolean) {
    this.#isSettled = isSettled
    this.#kept.clear()
  }

  tell(asked: Asked): Promise<Told> {
    if (!this.#isSettled) return this.#ask(asked)
    const question = JSON.stringify(asked)
    const kept = this.#kept.get(question) ?? this.#ask(asked)
    this.#kept.set(question, kept)
    return kept
  }

  async #ask({ method, path, body, accept }: Asked): Promise<Told> {
    const answer = await this.#pool.request({
      method: method === 'POST' ? 'POST' : 'GET',
      path,
      headers: { accept, 'content-type': 'application/json' },
      body: body === '' ? null : body,
    })
    const headers: Record<string, string> = {}
    for (const name of [
      'content-type',
      'eth-consensus-version',
      'eth-consensus-finalized',
      'eth-execution-optimistic',
    ]) {
      const value = answer.headers[name]
      if (value !== undefined) headers[name] = String(value)
    }
    return { status: answer.statusCode, headers, body: new Uint8Array(await answer.body.arrayBuffer()) }
  }

  async events(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#pool.request({ method: 'GET', path, signal })).body
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy()
  }
}

export interface FaultyNode extends AsyncDisposable {
  readonly url: string
  /** Answers that were not the truth. */
  readonly faults: number
}

/** A node between the program and the true one; of several faults the first that is about a question is its answer. */
export async function openFaultyNode(
  truth: TrueNode,
  faults: readonly NodeFault[],
  changeEvents: ChangeEvents = (text) => text,
): Promise<FaultyNode> {
  const met = faults.map(() => 0)
  const stop = new AbortController()
  let count = 0
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = await read(request)
    const fault = faults.find((one, i) => {
      if (!one.of(asked)) return false
      const { times = Number.POSITIVE_INFINITY } = one
      const turn = met[i] ?? 0
      met[i] = turn + 1
      return turn < times
    })
    if (fault === undefined) {
      if (asked.path.startsWith(EVENTS)) return passEvents(truth, asked, response, changeEvents, stop.signal)
      return send(response, await truth.tell(asked), stop.signal)
    }
    count++
    await send(
      response,
      await fault.reply(asked, (path = asked.path, accept = asked.accept) => truth.tell({ ...asked, path, accept })),
      stop.signal,
    )
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()) // the asker or the true node has gone
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    get faults() {
      return count
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function read(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const { method = '', url: path = '', headers } = request
  return { method, path, body: Buffer.concat(chunks).toString(), accept: headers.accept ?? '*/*' }
}

async function send(response: ServerResponse, reply: Reply, stop: AbortSignal): Promise<void> {
  if (reply === 'hang') return
  if (reply === 'reset') {
    response.destroy()
    return
  }
  if ('cut' in reply) {
    const { status, headers, body } = reply.cut
    response.writeHead(status, { ...headers, 'content-length': body.length })
    response.write(body.subarray(0, body.length / 2), () => response.destroy())
    return
  }
  if ('trickle' in reply) {
    const { status, headers, body } = reply.trickle
    response.writeHead(status, headers)
    for (let sent = 0; !response.destroyed && !stop.aborted; sent = (sent + 1) % body.length) {
      response.write(body.subarray(sent, sent + 1))
      await sleep(TRICKLE_EVERY_MS)
    }
    return
  }
  response.writeHead(reply.status, reply.headers)
  response.end(reply.body)
}

async function passEvents(
  truth: TrueNode,
  { path }: Asked,
  response: ServerResponse,
  change: ChangeEvents,
  stop: AbortSignal,
): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const pieces = await truth.events(path, AbortSignal.any([gone.signal, stop]))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  for await (const piece of pieces) {
    const text = change(Buffer.from(piece).toString())
    if (text === undefined) {
      response.destroy()
      return
    }
    response.write(text)
  }
  response.end()
}
