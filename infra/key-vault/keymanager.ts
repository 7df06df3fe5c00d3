import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { ClientAccess, ValidatorClient } from '../ports/validator-client.ts'
import { parseJson, RemoteServer } from './remote-server.ts'

// The standard Keymanager API (ethereum/keymanager-APIs): what takes keystores, and runs or signs with their keys.

const TIMEOUT_MS = 10_000
/** It derives a key for each keystore. */
const IMPORT_TIMEOUT_MS = 60_000
/** 100,000 keys of 200 bytes, with room. */
const LIST_BYTES_MAX = 32 * 1024 * 1024
/** Fee recipients that are set side by side. */
const SET_AT_ONCE = 10

const isImported = Compile(Type.Object({ data: Type.Array(Type.Object({ status: Type.String() })) }))
const isList = Compile(
  Type.Object({
    data: Type.Array(Type.Object({ validating_pubkey: Type.String({ pattern: '^0x[0-9a-fA-F]{96}$' }) })),
  }),
)

/** A keystore of EIP-2335 with what opens it. */
export interface LockedKey {
  readonly keystore: string
  readonly password: string
}

/** Whether it has the key now. Why it has not is not told: its words may quote the keystore. */
export type Import = 'imported' | 'duplicate' | 'error'

/**
 * Gives a server keystores; one that it has is as good. One status for each, in their order. `slashingProtection`: an interchange of
 * EIP-3076. Throws AppError of the server's code when it does not answer as it should: then it may have got them.
 */
export async function importKeystores(
  server: RemoteServer,
  keys: readonly LockedKey[],
  slashingProtection?: string,
): Promise<readonly Import[]> {
  const body = {
    keystores: keys.map(({ keystore }) => keystore),
    passwords: keys.map(({ password }) => password),
    ...(slashingProtection === undefined ? {} : { slashing_protection: slashingProtection }),
  }
  const answer = await server.ask({ method: 'POST', path: '/eth/v1/keystores', body, timeoutMs: IMPORT_TIMEOUT_MS })
  if (answer.status !== 200) throw server.fault(`it refused keystores with status ${answer.status}`)
  const told = parseJson(answer.text)
  if (!isImported.Check(told) || told.data.length !== keys.length)
    throw server.fault('it answered keystores with something else')
  return told.data.map(({ status }) => (status === 'imported' || status === 'duplicate' ? status : 'error'))
}

/** A validator client as a server that takes keystores. */
export function clientServer({ url, token }: ClientAccess): RemoteServer {
  return new RemoteServer({ url, name: 'The validator client', code: 'validator_client', bearerToken: token })
}

/** What a client is called in the log, which shows nobody an address: the same address is the same client. */
export function clientIdOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return createHash('sha256')
    .update(`validator client ${origin}${pathname.replace(/\/$/, '')}`)
    .digest('hex')
}

export interface ValidatorClientOptions extends ClientAccess {
  /** Instead of that of its address. */
  readonly id?: string
  readonly timeoutMs?: number
}

/** A validator client at its Keymanager API; asks nothing. */
export function openValidatorClient({ url, token, ...options }: ValidatorClientOptions): ValidatorClient {
  const { id = clientIdOf(url), timeoutMs = TIMEOUT_MS } = options
  const access = { url, token }
  const server = clientServer(access)

  async function setFeeRecipient(pubkey: string, address: string): Promise<void> {
    const path = `/eth/v1/validator/${pubkey}/feerecipient`
    const body = { ethaddress: address }
    const { status } = await server.ask({ method: 'POST', path, body, timeoutMs })
    if (status < 200 || status >= 300) throw server.fault(`it refused a fee recipient with status ${status}`)
  }

  return {
    id,
    access,
    async keys() {
      const path = '/eth/v1/keystores'
      const question = { method: 'GET', path, timeoutMs, answerBytesMax: LIST_BYTES_MAX } as const
      const { status, text } = await server.ask(question)
      if (status !== 200) throw server.fault(`it refused to list its keys with status ${status}`)
      const told = parseJson(text)
      if (!isList.Check(told)) throw server.fault('it listed its keys as something else')
      return new Set(told.data.map(({ validating_pubkey: pubkey }) => pubkey.toLowerCase()))
    },
    async setFeeRecipients(recipients) {
      for (let at = 0; at < recipients.length; at += SET_AT_ONCE) {
        const some = recipients.slice(at, at + SET_AT_ONCE)
        await Promise.all(some.map(({ pubkey, address }) => setFeeRecipient(pubkey, address)))
      }
    },
  }
}
