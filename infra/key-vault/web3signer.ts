import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { hexOf } from '../../schemas/eth/hex.ts'
import { importKeystores, type LockedKey } from './keymanager.ts'
import { parseJson, RemoteServer } from './remote-server.ts'

// Web3Signer's HTTP API (Consensys/web3signer, openapi-specs/eth2): signing, and the standard Keymanager API for keystores.

/** A signature takes milliseconds; it may ask a database about it. */
const SIGN_TIMEOUT_MS = 10_000

const isSigned = Compile(Type.Object({ signature: Type.String({ pattern: '^0x[0-9a-fA-F]{192}$' }) }))

/** What Web3Signer has to know of an exit; roots and versions are bytes. */
export interface Web3SignerExit {
  readonly epoch: number
  readonly validatorIndex: number
  /** 4 bytes: the one fork version that the domain is made of. */
  readonly forkVersion: Uint8Array
  /** 32 bytes. */
  readonly genesisValidatorsRoot: Uint8Array
  /** 32 bytes: it refuses where it computes another one. */
  readonly signingRoot: Uint8Array
}

export class Web3Signer {
  readonly #server: RemoteServer

  /** `url`: with the path, user or query that leads to it, if any. */
  constructor(url: string) {
    this.#server = new RemoteServer({ url, name: 'Web3Signer', code: 'key_vault' })
  }

  /** Gives it keys; one that it has is as good. Throws AppError `key_vault` when it has not got all of them afterwards. */
  async importKeys(keys: readonly LockedKey[]): Promise<void> {
    const wrong = (await importKeystores(this.#server, keys)).filter((status) => status === 'error')
    if (wrong.length > 0) throw this.#server.fault(`it did not take ${wrong.length} of ${keys.length} keystores`)
  }

  /** 96 bytes, not verified; undefined when it has no such key. `pubkey` is lower-case hex. Throws AppError `key_vault`. */
  async signExit(pubkey: string, exit: Web3SignerExit): Promise<Uint8Array | undefined> {
    const version = hexOf(exit.forkVersion)
    const body = {
      type: 'VOLUNTARY_EXIT',
      // Its domain is that of the fork at the exit's epoch: before and after are the one that EIP-7044 wants.
      fork_info: {
        fork: { previous_version: version, current_version: version, epoch: '0' },
        genesis_validators_root: hexOf(exit.genesisValidatorsRoot),
      },
      signingRoot: hexOf(exit.signingRoot),
      voluntary_exit: { epoch: String(exit.epoch), validator_index: String(exit.validatorIndex) },
    }
    const path = `/api/v1/eth2/sign/${pubkey}`
    const { status, text } = await this.#server.ask({ method: 'POST', path, body, timeoutMs: SIGN_TIMEOUT_MS })
    if (status === 404) return undefined
    if (status !== 200) throw this.#server.fault(`it refused to sign an exit with status ${status}`)
    const signature = signatureIn(text)
    if (signature === undefined) throw this.#server.fault('it answered an exit with something else than a signature')
    return signature
  }

  /** Throws AppError `key_vault` when it does not answer that it is up. */
  async check(): Promise<void> {
    const { status } = await this.#server.ask({ method: 'GET', path: '/upcheck', timeoutMs: SIGN_TIMEOUT_MS })
    if (status !== 200) throw this.#server.fault(`it answers /upcheck with status ${status}`)
  }
}

/** JSON, or the text alone, as its OpenAPI has it. */
function signatureIn(text: string): Uint8Array | undefined {
  const told = parseJson(text) ?? { signature: text.trim() }
  return isSigned.Check(told) ? new Uint8Array(Buffer.from(told.signature.slice('0x'.length), 'hex')) : undefined
}
