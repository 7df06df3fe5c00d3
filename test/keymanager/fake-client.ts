import { openKeystore } from '../../infra/key-vault/keystore.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import type { Answered } from '../web3signer/api-table.ts'
import { type Ended, type Question, TableServer } from '../web3signer/table-server.ts'
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

/** A validator client of the table. */
export class FakeClient extends TableServer<keyof typeof KEYMANAGER_API> {
  static readonly TOKEN = 'api-token-0xc0ffee'
  /** What it has: where blocks of each key pay, undefined where nobody has said it. */
  readonly keys = new Map<string, string | undefined>()
  /** Of each import. */
  readonly protections: unknown[] = []
  /** How often a keystore of each key came. */
  readonly imports = new Map<string, number>()
  misbehaviour: Misbehaviour = {}
  /** Awaited before an import is answered. */
  onImport: () => Promise<void> = async () => {}

  static async start(): Promise<FakeClient> {
    const client = new FakeClient(KEYMANAGER_API)
    await client.listen()
    return client
  }

  protected override refusalOf(authorization: string | undefined): Answered | undefined {
    const token = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1]
    if (token === FakeClient.TOKEN) return undefined
    return { status: token === undefined ? 401 : 403, data: { message: `not with ${authorization}` } }
  }

  protected override async answerOf({ route, named, body }: Question<keyof typeof KEYMANAGER_API>): Promise<Ended> {
    if (route === 'list') return wrongly(this.misbehaviour.list, { status: 200, data: this.#list() })
    if (route === 'import') return await this.#import(body as ImportRequest)
    return this.#setFeeRecipient(named, body as { readonly ethaddress: string })
  }

  /** Keys with upper-case digits, as they may be written. */
  #list() {
    const keys = [...this.keys.keys()].map((pubkey) => `0x${pubkey.slice(2).toUpperCase()}`)
    return { data: keys.map((pubkey) => ({ validating_pubkey: pubkey, derivation_path: '', readonly: false })) }
  }

  async #import(asked: ImportRequest): Promise<Ended> {
    if (asked.keystores.length !== asked.passwords.length) return this.refuse(['as many passwords as keystores'])
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

  #setFeeRecipient(pubkey: string, asked: { readonly ethaddress: string }): Ended {
    if (typeof this.misbehaviour.feeRecipient !== 'number') {
      if (!this.keys.has(pubkey)) return { status: 404, data: { message: 'no such key' } }
      this.keys.set(pubkey, asked.ethaddress)
    }
    return wrongly(this.misbehaviour.feeRecipient, { status: 202, data: '' })
  }
}

interface ImportRequest {
  readonly keystores: readonly string[]
  readonly passwords: readonly string[]
  readonly slashing_protection?: string
}

function wrongly(wrong: Wrong | undefined, right: Answered): Ended {
  if (wrong === undefined) return right
  if (wrong === 'silence' || wrong === 'cut') return wrong
  if (wrong === 'garbage') return { status: 200, data: '<html>it works</html>', isWrongOnPurpose: true }
  return { status: wrong, data: { message: 'no' } }
}
