import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { AppError } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'

// Web3Signer's HTTP API (Consensys/web3signer, openapi-specs/eth2): signing, and the standard Keymanager API for keystores. Its address may
// hold a secret, and its answers quote what they were asked: neither is in an error.

/** A signature takes milliseconds; it may ask a database about it. */
const SIGN_TIMEOUT_MS = 10_000
/** It derives a key for each keystore. */
const IMPORT_TIMEOUT_MS = 60_000
const ANSWER_BYTES_MAX = 256 * 1024

const isImported = Compile(Type.Object({ data: Type.Array(Type.Object({ status: Type.String() })) }))
const isSigned = Compile(Type.Object({ signature: Type.String({ pattern: '^0x[0-9a-fA-F]{192}$' }) }))

/** A keystore of EIP-2335 with what opens it. */
export interface LockedKey {
  readonly keystore: string
  readonly password: string
}

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
  readonly #base: string

  /** `url`: with the path, user or query that leads to it, if any. */
  constructor(url: string) {
    this.#base = url.replace(/\/$/, '')
  }

  /** Gives it keys; one that it has is as good. Throws AppError `key_vault` when it has not got all of them afterwards. */
  async importKeys(keys: readonly LockedKey[]): Promise<void> {
    const body = { keystores: keys.map(({ keystore }) => keystore), passwords: keys.map(({ password }) => password) }
    const answer = await this.#post('/eth/v1/keystores', body, IMPORT_TIMEOUT_MS)
    if (answer.status !== 200) throw refused(`it refused keystores with status ${answer.status}`)
    const told = parseJson(answer.text)
    if (!isImported.Check(told) || told.data.length !== keys.length)
      throw refused('it answered keystores with something else')
    const wrong = told.data.filter(({ status }) => status !== 'imported' && status !== 'duplicate')
    if (wrong.length > 0) throw refused(`it did not take ${wrong.length} of ${keys.length} keystores`)
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
    const { status, text } = await this.#post(`/api/v1/eth2/sign/${pubkey}`, body, SIGN_TIMEOUT_MS)
    if (status === 404) return undefined
    if (status !== 200) throw refused(`it refused to sign an exit with status ${status}`)
    const signature = signatureIn(text)
    if (signature === undefined) throw refused('it answered an exit with something else than a signature')
    return signature
  }

  /** Throws AppError `key_vault` when it does not answer that it is up. */
  async check(): Promise<void> {
    const { status } = await this.#ask('/upcheck', { method: 'GET' }, SIGN_TIMEOUT_MS)
    if (status !== 200) throw refused(`it answers /upcheck with status ${status}`)
  }

  #post(path: string, body: object, timeoutMs: number): Promise<Answer> {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    return this.#ask(path, { method: 'POST', headers, body: JSON.stringify(body) }, timeoutMs)
  }

  async #ask(path: string, init: RequestInit, timeoutMs: number): Promise<Answer> {
    try {
      const url = urlOf(this.#base, path)
      const response = await fetch(url.href, {
        ...init,
        headers: { ...init.headers, ...url.headers },
        redirect: 'error', // where it leads is no Web3Signer of ours
        signal: AbortSignal.timeout(timeoutMs),
      })
      return { status: response.status, text: await textOf(response) }
    } catch (error) {
      if (error instanceof AppError) throw error
      if (!(error instanceof Error)) throw error
      const late = error.name === 'TimeoutError'
      throw refused(late ? `it did not answer within ${timeoutMs / 1_000} s` : 'it cannot be reached')
    }
  }
}

interface Answer {
  readonly status: number
  readonly text: string
}

async function textOf({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > ANSWER_BYTES_MAX) throw refused('its answer is too long')
  }
  return Buffer.concat(pieces).toString()
}

/** `fetch` takes no user in a URL: they go into a header. */
function urlOf(
  base: string,
  path: string,
): { readonly href: string; readonly headers: Readonly<Record<string, string>> } {
  const url = new URL(base)
  const { username, password } = url
  url.username = ''
  url.password = ''
  url.pathname = `${url.pathname.replace(/\/$/, '')}${path}`
  if (username === '' && password === '') return { href: url.href, headers: {} }
  const user = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return { href: url.href, headers: { authorization: `Basic ${user}` } }
}

/** JSON, or the text alone, as its OpenAPI has it. */
function signatureIn(text: string): Uint8Array | undefined {
  const told = parseJson(text) ?? { signature: text.trim() }
  return isSigned.Check(told) ? new Uint8Array(Buffer.from(told.signature.slice('0x'.length), 'hex')) : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Without the cause, which names the address. */
function refused(reason: string): AppError {
  return new AppError('key_vault', `Web3Signer: ${reason}.`, { retryable: true })
}
