import { SecretKey } from '@chainsafe/blst'
import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { openKeystore } from '../../infra/key-vault/keystore.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { WEB3SIGNER_API } from './table.ts'
import { type Ended, type Question, TableServer } from './table-server.ts'

const DOMAIN_VOLUNTARY_EXIT = Uint8Array.of(4, 0, 0, 0)

/** How it answers otherwise than it should. */
export interface Misbehaviour {
  readonly signing?: 'text' | 'other key' | number | 'garbage' | 'silence'
  readonly importing?: 'error' | 'short' | number
}

/** A Web3Signer of the table. */
export class FakeWeb3Signer extends TableServer<keyof typeof WEB3SIGNER_API> {
  readonly keys = new Map<string, SecretKey>()
  misbehaviour: Misbehaviour = {}

  static async start(): Promise<FakeWeb3Signer> {
    const signer = new FakeWeb3Signer(WEB3SIGNER_API)
    await signer.listen()
    return signer
  }

  protected override async answerOf({ route, named, body }: Question<keyof typeof WEB3SIGNER_API>): Promise<Ended> {
    if (route === 'upcheck') return { status: 200, data: 'OK' }
    return route === 'sign' ? this.#sign(named, body as SignRequest) : await this.#import(body as ImportRequest)
  }

  async #import({ keystores, passwords }: ImportRequest): Promise<Ended> {
    const { importing } = this.misbehaviour
    if (typeof importing === 'number') return { status: importing, data: { message: passwords.join() } }
    if (keystores.length !== passwords.length) return this.refuse(['as many passwords as keystores'])
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

  #sign(pubkey: string, asked: SignRequest): Ended {
    const { signing } = this.misbehaviour
    if (signing === 'silence') return 'silence'
    if (typeof signing === 'number') return { status: signing, data: `refused for ${pubkey}` }
    const key = signing === 'other key' ? SecretKey.fromKeygen(new Uint8Array(32).fill(3)) : this.keys.get(pubkey)
    if (key === undefined) return { status: 404, data: 'Public Key not found' }
    const { fork, genesis_validators_root } = asked.fork_info
    const exit = {
      epoch: Number(asked.voluntary_exit.epoch),
      validatorIndex: Number(asked.voluntary_exit.validator_index),
    }
    const version = exit.epoch < Number(fork.epoch) ? fork.previous_version : fork.current_version
    const domain = computeDomain(DOMAIN_VOLUNTARY_EXIT, bytesOf(version), bytesOf(genesis_validators_root))
    const root = computeSigningRoot(ssz.phase0.VoluntaryExit, exit, domain)
    if (asked.signingRoot !== undefined && asked.signingRoot !== hexOf(root))
      return this.refuse(['signingRoot is another'])
    const signature = hexOf(key.sign(root).toBytes())
    if (signing === 'garbage') return { status: 200, data: { signature: '0x00' }, isWrongOnPurpose: true }
    return { status: 200, data: signing === 'text' ? signature : { signature } }
  }
}

interface ImportRequest {
  readonly keystores: readonly string[]
  readonly passwords: readonly string[]
}

interface SignRequest {
  readonly fork_info: {
    readonly fork: { readonly previous_version: string; readonly current_version: string; readonly epoch: string }
    readonly genesis_validators_root: string
  }
  readonly signingRoot?: string
  readonly voluntary_exit: { readonly epoch: string; readonly validator_index: string }
}
