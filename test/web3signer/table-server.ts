import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Answered, answerFaultsOf, faultsOf, type TableRoute } from './api-table.ts'

/** Besides answers of the table: one that is wrong on purpose, none, or the connection cut. */
export type Ended = Answered | (Answered & { readonly isWrongOnPurpose: true }) | 'silence' | 'cut'

export interface Question<Name> {
  readonly route: Name
  /** What the path names; empty where it names nothing. */
  readonly named: string
  /** By the route's rules. */
  readonly body: unknown
}

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly authorization: string | undefined
}

/** An API of a table: it refuses with 400 what the table does not have, and keeps that and what it answers against the table as faults. */
export abstract class TableServer<Name extends string> implements AsyncDisposable {
  /** What was asked, or answered in good faith, that the API has not. */
  readonly faults: string[] = []
  readonly asked: Asked[] = []
  readonly #routes: readonly (readonly [Name, TableRoute])[]
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  protected constructor(table: Readonly<Record<Name, TableRoute>>) {
    this.#routes = Object.entries(table) as [Name, TableRoute][]
  }

  /** Only what the table has is asked of it. */
  protected abstract answerOf(question: Question<Name>): Promise<Ended>

  /** Whom it does not answer. */
  protected refusalOf(_authorization: string | undefined): Answered | undefined {
    return undefined
  }

  protected async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  /** For what a table cannot say of a request. */
  protected refuse(faults: readonly string[]): Ended {
    this.faults.push(...faults)
    return { status: 400, data: { message: 'Bad request format' }, isWrongOnPurpose: true }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request
    const body = await text(request)
    this.asked.push({ method, path, body, authorization: headers.authorization })
    const found = this.#routes.find(([, route]) => route.method === method && route.path.test(path))
    const ended =
      found === undefined
        ? this.refuse([`${method} ${path} is not in the API`])
        : await this.#ask(found, { path, body, headers })
    if (ended === 'silence') return
    if (ended === 'cut') return void request.socket.destroy()
    if (found !== undefined && !('isWrongOnPurpose' in ended))
      this.faults.push(...answerFaultsOf(found[1], ended).map((fault) => `answer to ${method} ${path}: ${fault}`))
    const isText = typeof ended.data === 'string'
    response.writeHead(ended.status, { 'content-type': isText ? 'text/plain' : 'application/json' })
    response.end(isText ? ended.data : JSON.stringify(ended.data))
  }

  async #ask([name, route]: readonly [Name, TableRoute], { path, body, headers }: Received): Promise<Ended> {
    const refused = this.refusalOf(headers.authorization)
    if (refused !== undefined) return refused
    const faults = requestFaultsOf(route, { path, body, headers })
    if (faults.length > 0) return this.refuse(faults)
    const asked: unknown = route.request === undefined ? undefined : JSON.parse(body)
    return await this.answerOf({ route: name, named: route.path.exec(path)?.[1]?.toLowerCase() ?? '', body: asked })
  }
}

interface Received {
  readonly path: string
  readonly body: string
  readonly headers: IncomingHttpHeaders
}

function requestFaultsOf({ request }: TableRoute, { path, body, headers }: Received): readonly string[] {
  if (request === undefined) return body === '' ? [] : [`${path} has no body`]
  const type = headers['content-type']
  const typed = type === 'application/json' ? [] : [`content-type ${type} is not in the API`]
  return [...typed, ...faultsOf(JSON.parse(body), request)]
}
