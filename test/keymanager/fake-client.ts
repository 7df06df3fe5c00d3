import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { openKeystore } from '../../infra/key-vault/keystore.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { faultsOf } from '../web3signer/table.ts'
import { KEYMANAGER_API } from './table.ts'

/** How a route answers otherwise than it should: a status, something else, never, or with the connection cut when the work is done. */
type Wrong = number | 'garbage' | 'silence' | 'cut'

export interface Misbehaviour {
  readonly list?: Wrong
  readonly import?: Wrong | 'short'
  readonly feeRecipient?: Wrong
  /** Keys that it does not take, with status `error`. */
  readonly refuses?: readonly string[]
}

interface Answered {
  readonly status: number
  readonly data: unknown
}

/** A validator client of the table: it refuses with 400 what the table does not have, and keeps the faults. */
export class FakeClient implements AsyncDisposable {
  static readonly TOKEN = 'api-token-0xc0ffee'
  /** What it has: where blocks of each key pay, undefined where nobody has said it. */
  readonly keys = new Map<string, string | undefined>()
  /** Of each import. */
  readonly protections: unknown[] = []
  /** How often a keystore of each key came. */
  readonly imports = new Map<string, number>()
  readonly faults: string[] = []
  /** Method and path of all that was asked. */
  readonly asked: string[] = []
  misbehaviour: Misbehaviour = {}
  /** Awaited before an import is answered. */
  onImport: () => Promise<void> = async () => {}
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  static async start(): Promise<FakeClient> {
    const client = new FakeClient()
    client.#server.listen(0, '127.0.0.1')
    await once(client.#server, 'listening')
    return client
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request
    const body = await text(request)
    this.asked.push(`${method} ${path}`)
    const token = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1]
    const isOurs = token === FakeClient.TOKEN
    const answered = isOurs
      ? await this.#route(method, path, body)
      : { status: token === undefined ? 401 : 403, data: { message: `not with ${headers.authorization}` } }
    if (answered === 'silence') return
    if (answered === 'cut') return void request.socket.destroy()
    response.writeHead(answered.status, { 'content-type': 'application/json' })
    response.end(typeof answered.data === 'string' ? answered.data : JSON.stringify(answered.data))
  }

  async #route(method: string, path: string, body: string): Promise<Answered | 'silence' | 'cut'> {
    const { list, import: importing, feeRecipient } = KEYMANAGER_API
    if (method === list.method && list.path.test(path))
      return wrongly(this.misbehaviour.list, { status: 200, data: this.#list() })
    if (method === importing.method && importing.path.test(path)) return await this.#import(JSON.parse(body))
    const [, pubkey] = method === feeRecipient.method ? (feeRecipient.path.exec(path) ?? []) : []
    if (pubkey === undefined) return this.#refuse([`${method} ${path} is not in the API`])
    return this.#setFeeRecipient(pubkey.toLowerCase(), JSON.parse(body))
  }

  /** Keys with upper-case digits, as they may be written. */
  #list() {
    const keys = [...this.keys.keys()].map((pubkey) => `0x${pubkey.slice(2).toUpperCase()}`)
    return { data: keys.map((pubkey) => ({ validating_pubkey: pubkey, derivation_path: '', readonly: false })) }
  }

  async #import(asked: ImportRequest): Promise<Answered | 'silence' | 'cut'> {
    const { required, optional } = KEYMANAGER_API.import.request
    const faults = faultsOf(asked, required, optional)
    if (faults.length > 0) return this.#refuse(faults)
    if (asked.keystores.length !== asked.passwords.length) return this.#refuse(['as many passwords as keystores'])
    const { import: wrong, refuses = [] } = this.misbehaviour
    if (typeof wrong === 'number') return { status: wrong, data: { message: asked.passwords.join() } }
    await this.onImport()
    this.protections.push(JSON.parse(asked.slashing_protection ?? 'null'))
    const data: { status: string; message?: string }[] = []
    for (const [i, keystore] of asked.keystores.entries()) {
      const opened = await openKeystore(keystore, Buffer.from(asked.passwords[i] ?? ''))
      const pubkey = opened.status === 'opened' ? hexOf(opened.key.toPublicKey().toBytes()) : undefined
      if (pubkey === undefined || refuses.includes(pubkey)) {
        data.push({ status: 'error', message: `Failed to import ${keystore} with ${asked.passwords[i]}` })
        continue
      }
      this.imports.set(pubkey, (this.imports.get(pubkey) ?? 0) + 1)
      data.push({ status: this.keys.has(pubkey) ? 'duplicate' : 'imported' })
      if (!this.keys.has(pubkey)) this.keys.set(pubkey, undefined)
    }
    if (wrong === 'short') return { status: 200, data: { data: data.slice(1) } }
    return wrongly(wrong, { status: 200, data: { data } })
  }

  #setFeeRecipient(pubkey: string, asked: { readonly ethaddress: string }): Answered | 'silence' | 'cut' {
    const { required, optional } = KEYMANAGER_API.feeRecipient.request
    const faults = faultsOf(asked, required, optional)
    if (faults.length > 0) return this.#refuse(faults)
    if (typeof this.misbehaviour.feeRecipient !== 'number') {
      if (!this.keys.has(pubkey)) return { status: 404, data: { message: 'no such key' } }
      this.keys.set(pubkey, asked.ethaddress)
    }
    return wrongly(this.misbehaviour.feeRecipient, { status: 202, data: '' })
  }

  #refuse(faults: readonly string[]): Answered {
    this.faults.push(...faults)
    return { status: 400, data: { message: 'Bad request format' } }
  }
}

interface ImportRequest {
  readonly keystores: readonly string[]
  readonly passwords: readonly string[]
  readonly slashing_protection?: string
}

function wrongly(wrong: Wrong | undefined, right: Answered): Answered | 'silence' | 'cut' {
  if (wrong === undefined) return right
  if (wrong === 'silence' || wrong === 'cut') return wrong
  if (wrong === 'garbage') return { status: 200, data: '<html>it works</html>' }
  return { status: wrong, data: { message: 'no' } }
}
