import { createHash, timingSafeEqual } from 'node:crypto'
import fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { Compile } from 'typebox/schema'
import type { Hex } from '../../../schemas/eth/hex.ts'
import { type Listening, listenOn } from '../listen.ts'
import { NOTHING_SIGNED, readInterchange, type SignedUpTo, writeInterchange } from './interchange.ts'
import type { Imported, ValidatorClient } from './validator-client.ts'

const BODY_BYTES_MAX = 16 * 1024 * 1024
const KEYS_MAX = 1_000

const ImportBody = Type.Object({
  keystores: Type.Array(Type.String(), { minItems: 1, maxItems: KEYS_MAX }),
  passwords: Type.Array(Type.String(), { minItems: 1, maxItems: KEYS_MAX }),
  slashing_protection: Type.Optional(Type.String()),
})
const DeleteBody = Type.Object({ pubkeys: Type.Array(Type.String(), { minItems: 1, maxItems: KEYS_MAX }) })
const RecipientBody = Type.Object({ ethaddress: Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' }) })
const isImport = Compile(ImportBody)
const isDelete = Compile(DeleteBody)
const isRecipient = Compile(RecipientBody)

const PUBKEY = /^0x[0-9a-f]{96}$/
const ZERO_ADDRESS = `0x${'00'.repeat(20)}`

/** An answer of the API that is no success: `{ message }` with that HTTP status. */
class KeymanagerError extends Error {
  readonly statusCode: 400 | 401 | 403 | 404

  constructor(statusCode: 400 | 401 | 403 | 404, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}

export interface KeymanagerOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly token: string
  readonly client: ValidatorClient
  readonly genesisValidatorsRoot: Hex
}

/**
 * The standard Keymanager API (github.com/ethereum/keymanager-APIs): local keystores and fee recipients, for who has the token. Throws
 * AppError `config` for a taken port.
 */
export async function openKeymanagerApi(options: KeymanagerOptions): Promise<Listening> {
  const { host, port, token } = options
  const server = fastify({ bodyLimit: BODY_BYTES_MAX, forceCloseConnections: true })
  server.setErrorHandler((error: FastifyError, _, reply) =>
    reply.code(error.statusCode ?? 500).send({ message: error.message }),
  )
  server.setNotFoundHandler((_, reply) => reply.code(404).send({ message: 'There is no such route.' }))
  server.addHook('onRequest', async ({ headers }) => requireToken(headers.authorization, token))
  registerKeystores(server, options)
  registerFeeRecipients(server, options)
  return await listenOn(server, { host, port, name: 'validator client', portSetting: 'DEVNET_VALIDATOR_PORT' })
}

function requireToken(authorization: string | undefined, token: string): void {
  const given = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
  if (given === undefined) throw new KeymanagerError(401, 'A bearer token is missing.')
  const digest = (text: string) => createHash('sha256').update(text).digest()
  if (!timingSafeEqual(digest(given), digest(token))) throw new KeymanagerError(403, 'The bearer token is another one.')
}

function registerKeystores(server: FastifyInstance, { client, genesisValidatorsRoot }: KeymanagerOptions): void {
  server.get('/eth/v1/keystores', () => ({
    data: client
      .list()
      .map(({ pubkey, path }) => ({ validating_pubkey: pubkey, derivation_path: path, readonly: false })),
  }))
  server.post('/eth/v1/keystores', async ({ body }) => {
    if (!isImport.Check(body) || body.keystores.length !== body.passwords.length)
      throw new KeymanagerError(400, 'The body has keystores, and as many passwords.')
    const { keystores, passwords, slashing_protection: protection } = body
    const read = protection === undefined ? undefined : readInterchange(protection, genesisValidatorsRoot)
    if (read?.status === 'refused')
      throw new KeymanagerError(400, `The slashing protection is refused: ${read.reason}.`)
    const data: Imported[] = []
    // One after the other: a keystore with scrypt takes 256 MiB.
    for (const [index, keystore] of keystores.entries())
      data.push(await client.importKeystore(keystore, passwords[index] ?? '', (pubkey) => read?.signed.get(pubkey)))
    return { data }
  })
  server.delete('/eth/v1/keystores', ({ body }) => {
    if (!isDelete.Check(body)) throw new KeymanagerError(400, 'The body has public keys.')
    const pubkeys = body.pubkeys.map((pubkey) => pubkey.toLowerCase() as Hex)
    const data = pubkeys.map((pubkey) => client.remove(pubkey))
    const signed = new Map<Hex, SignedUpTo>()
    for (const [index, pubkey] of pubkeys.entries()) {
      if (data[index]?.status !== 'not_found') signed.set(pubkey, client.signedBy(pubkey) ?? NOTHING_SIGNED)
    }
    return { data, slashing_protection: writeInterchange(signed, genesisValidatorsRoot) }
  })
}

function registerFeeRecipients(server: FastifyInstance, { client }: KeymanagerOptions): void {
  const path = '/eth/v1/validator/:pubkey/feerecipient'
  const pubkeyOf = (params: unknown): Hex => {
    const pubkey = String((params as { pubkey?: unknown }).pubkey).toLowerCase()
    if (!PUBKEY.test(pubkey)) throw new KeymanagerError(400, 'The public key is not 0x and 96 hex digits.')
    if (!client.has(pubkey as Hex)) throw new KeymanagerError(404, 'This client does not have the key.')
    return pubkey as Hex
  }
  server.get(path, ({ params }) => {
    const pubkey = pubkeyOf(params)
    return { data: { pubkey, ethaddress: client.currentFeeRecipient(pubkey) } }
  })
  server.post(path, ({ params, body }, reply) => {
    const pubkey = pubkeyOf(params)
    if (!isRecipient.Check(body) || body.ethaddress === ZERO_ADDRESS)
      throw new KeymanagerError(400, 'The body has an ethaddress of 20 bytes that is not zero.')
    client.setFeeRecipient(pubkey, body.ethaddress.toLowerCase() as Hex)
    return reply.code(202).send()
  })
  server.delete(path, ({ params }, reply) => {
    client.setFeeRecipient(pubkeyOf(params), undefined)
    return reply.code(204).send()
  })
}
