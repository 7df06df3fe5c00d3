import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SecretKey } from '@chainsafe/blst'
import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { openKeystore } from '../../infra/key-vault/keystore.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { faultsOf, WEB3SIGNER_API } from './table.ts'

const DOMAIN_VOLUNTARY_EXIT = Uint8Array.of(4, 0, 0, 0)

/** How it answers otherwise than it should. */
export interface Misbehaviour {
  readonly signing?: 'text' | 'other key' | number | 'garbage' | 'silence'
  readonly importing?: 'error' | 'short' | number
}

/** A Web3Signer of the table: it refuses with 400 what the table does not have, and keeps the faults. */
export class FakeWeb3Signer implements AsyncDisposable {
  readonly keys = new Map<string, SecretKey>()
  /** What was asked that the API has not. */
  readonly faults: string[] = []
  /** Path and body of all that was asked. */
  readonly asked: { readonly path: string; readonly body: string; readonly authorization: string | undefined }[] = []
  misbehaviour: Misbehaviour = {}
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  static async start(): Promise<FakeWeb3Signer> {
    const signer = new FakeWeb3Signer()
    signer.#server.listen(0, '127.0.0.1')
    await once(signer.#server, 'listening')
    return signer
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
    const path = request.url ?? ''
    const body = await text(request)
    this.asked.push({ path, body, authorization: request.headers.authorization })
    const answered = await this.#answerOf(request.method ?? '', path, body)
    if (answered === undefined) return
    response.writeHead(answered.status, {
      'content-type': typeof answered.data === 'string' ? 'text/plain' : 'application/json',
    })
    response.end(typeof answered.data === 'string' ? answered.data : JSON.stringify(answered.data))
  }

  async #answerOf(method: string, path: string, body: string): Promise<{ status: number; data: unknown } | undefined> {
    const { sign, keystores, upcheck } = WEB3SIGNER_API
    if (method === upcheck.method && upcheck.path.test(path)) return { status: 200, data: 'OK' }
    const [, pubkey] = sign.path.exec(path) ?? []
    const rules =
      method !== 'POST'
        ? undefined
        : pubkey !== undefined
          ? sign.request
          : keystores.path.test(path)
            ? keystores.request
            : undefined
    if (rules === undefined) return this.#refuse([`${method} ${path} is not in the API`])
    const asked = JSON.parse(body)
    const faults = faultsOf(asked, rules.required, rules.optional)
    if (faults.length > 0) return this.#refuse(faults)
    return pubkey === undefined ? await this.#import(asked) : this.#sign(pubkey.toLowerCase(), asked)
  }

  #refuse(faults: readonly string[]) {
    this.faults.push(...faults)
    return { status: 400, data: 'Bad request format' }
  }

  async #import({
    keystores,
    passwords,
  }: {
    readonly keystores: readonly string[]
    readonly passwords: readonly string[]
  }) {
    const { importing } = this.misbehaviour
    if (typeof importing === 'number') return { status: importing, data: { message: passwords.join() } }
    if (keystores.length !== passwords.length) return this.#refuse(['as many passwords as keystores'])
    const data: { status: string; message?: string }[] = []
    for (const [i, keystore] of keystores.entries()) {
      const opened = await openKeystore(keystore, Buffer.from(passwords[i] ?? ''))
      if (opened.status === 'refused' || importing === 'error') {
        data.push({ status: 'error', message: `Failed to import ${keystore} with ${passwords[i]}` })
        continue
      }
      const pubkey = hexOf(opened.key.toPublicKey().toBytes())
      data.push({ status: this.keys.has(pubkey) ? 'duplicate' : 'imported' })
      this.keys.set(pubkey, opened.key)
    }
    return { status: 200, data: { data: importing === 'short' ? data.slice(1) : data } }
  }

  #sign(pubkey: string, asked: SignRequest): { status: number; data: unknown } | undefined {
    const { signing } = this.misbehaviour
    if (signing === 'silence') return undefined
    if (typeof signing === 'number') return { status: signing, data: `refused for ${pubkey}` }
    const key = signing === 'other key' ? SecretKey.fromKeygen(new Uint8Array(32).fill(3)) : this.keys.get(pubkey)
    if (key === undefined) return { status: 404, data: 'Public Key not found' }
    const { fork, genesis_validators_root } = asked.fork_info
    const exit = {
      epoch: Number(asked.voluntary_exit.epoch),
      validatorIndex: Number(asked.voluntary_exit.validator_index),
    }
    const version = exit.epoch < Number(fork.epoch) ? fork.previous_version : fork.current_version
    const domain = computeDomain(DOMAIN_VOLUNTARY_EXIT, bytes(version), bytes(genesis_validators_root))
    const root = computeSigningRoot(ssz.phase0.VoluntaryExit, exit, domain)
    if (asked.signingRoot !== undefined && asked.signingRoot !== hexOf(root))
      return this.#refuse(['signingRoot is another'])
    const signature = hexOf(key.sign(root).toBytes())
    if (signing === 'garbage') return { status: 200, data: { signature: '0x00' } }
    return { status: 200, data: signing === 'text' ? signature : { signature } }
  }
}

interface SignRequest {
  readonly fork_info: {
    readonly fork: { readonly previous_version: string; readonly current_version: string; readonly epoch: string }
    readonly genesis_validators_root: string
  }
  readonly signingRoot?: string
  readonly voluntary_exit: { readonly epoch: string; readonly validator_index: string }
}

function bytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex.slice(2), 'hex'))
}
