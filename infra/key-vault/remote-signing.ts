import { randomBytes } from 'node:crypto'
import { AppError } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import type { ExitTerms, ExitToSign } from '../ports/key-vault.ts'
import { toKeystores } from './export-keys.ts'
import type { OpenedKey, SecretKeys } from './secret-keys.ts'
import { exitMessage, requireExitSignature } from './sign-exit.ts'
import type { VaultStore } from './vault-store.ts'
import { Web3Signer } from './web3signer.ts'

const PASSWORD_BYTES = 32
/** Keystores of one request, a kilobyte each; Web3Signer derives a key for each before it answers. */
const IMPORTED_AT_ONCE = 20
/** Signatures that are waited for at once. */
const SIGNED_AT_ONCE = 10

/** Signs with Web3Signer, which has the keys as well: it runs the validators, and the vault keeps what it cannot make again. */
export class RemoteSigning {
  readonly #signer: Web3Signer
  readonly #secrets: SecretKeys
  readonly #store: VaultStore

  constructor(url: string, { secrets, store }: { readonly secrets: SecretKeys; readonly store: VaultStore }) {
    this.#signer = new Web3Signer(url)
    this.#secrets = secrets
    this.#store = store
  }

  /** Gives it keys, marked as exported before: whoever signs through it runs them. Throws AppError `key_vault`. */
  async take(keys: readonly OpenedKey[]): Promise<void> {
    this.#store.markExported(keys.map(({ pubkey }) => pubkey))
    for (let at = 0; at < keys.length; at += IMPORTED_AT_ONCE) {
      const password = randomBytes(PASSWORD_BYTES).toString('hex')
      const keystores = await toKeystores(keys.slice(at, at + IMPORTED_AT_ONCE), Buffer.from(password))
      await this.#signer.importKeys(keystores.map(({ keystore }) => ({ keystore, password })))
    }
  }

  /** As `KeyVault.signExits`, of keys that are here: one that Web3Signer lacks is given to it. */
  async signExits(exits: readonly ExitToSign[], terms: ExitTerms): Promise<readonly Uint8Array[]> {
    const signatures: Uint8Array[] = []
    for (let at = 0; at < exits.length; at += SIGNED_AT_ONCE) {
      const some = exits.slice(at, at + SIGNED_AT_ONCE)
      signatures.push(...(await Promise.all(some.map((exit) => this.#signExit(exit, terms)))))
    }
    return signatures
  }

  check(): Promise<void> {
    return this.#signer.check()
  }

  async #signExit(exit: ExitToSign, terms: ExitTerms): Promise<Uint8Array> {
    const asked = {
      epoch: exit.epoch,
      validatorIndex: exit.validatorIndex,
      forkVersion: terms.capellaForkVersion,
      genesisValidatorsRoot: terms.genesisValidatorsRoot,
      signingRoot: exitMessage(exit, terms),
    }
    let signature = await this.#signer.signExit(exit.pubkey, asked)
    if (signature === undefined) {
      await this.take(this.#secrets.open([bytesOf(exit.pubkey)]).filter((key) => key !== undefined))
      signature = await this.#signer.signExit(exit.pubkey, asked)
    }
    if (signature === undefined)
      throw new AppError('key_vault', `Web3Signer took the key of ${exit.pubkey} and does not sign with it.`, {
        retryable: true,
      })
    requireExitSignature(signature, exit, terms)
    return signature
  }
}
