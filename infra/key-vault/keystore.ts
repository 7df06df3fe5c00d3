import {
  createCipheriv,
  createDecipheriv,
  createHash,
  pbkdf2,
  randomBytes,
  randomUUID,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'
import { SecretKey } from '@chainsafe/blst'
import { Type } from 'typebox'
import { Compile } from 'typebox/schema'

// EIP-2335, version 4: a secret key under a password, as validator clients and other signers take it.

/** What the deposit tools write: 30 ms of one core. The password decides, which is random and has 256 bits unless one is given. */
const PBKDF2_ROUNDS = 262_144
const DERIVED_BYTES = 32
const SALT_BYTES = 32
const IV_BYTES = 16
const SECRET_BYTES = 32
const CIPHER = 'aes-128-ctr'
/** Of others' keystores: more rounds, or more memory, are a mistake or an attack. */
const PBKDF2_ROUNDS_MAX = 2 ** 24
const SCRYPT_MEMORY_BYTES_MAX = 512 * 1024 * 1024
/** What Node counts for scrypt is a little more than its large array. */
const SCRYPT_ROOM_BYTES = 1024 * 1024
export const KEYSTORE_BYTES_MAX = 16 * 1024

const derivePbkdf2 = promisify(pbkdf2)
const deriveScrypt = promisify<Uint8Array, Uint8Array, number, object, Buffer>(scrypt)

const Hex = Type.String({ pattern: '^([0-9a-fA-F]{2})*$' })
const Kdf = Type.Union([
  Type.Object({
    function: Type.Literal('pbkdf2'),
    params: Type.Object({
      dklen: Type.Literal(DERIVED_BYTES),
      c: Type.Integer({ minimum: 1, maximum: PBKDF2_ROUNDS_MAX }),
      prf: Type.Literal('hmac-sha256'),
      salt: Hex,
    }),
  }),
  Type.Object({
    function: Type.Literal('scrypt'),
    params: Type.Object({
      dklen: Type.Literal(DERIVED_BYTES),
      n: Type.Integer({ minimum: 2 }),
      r: Type.Integer({ minimum: 1 }),
      p: Type.Integer({ minimum: 1, maximum: 16 }),
      salt: Hex,
    }),
  }),
])
const Keystore = Type.Object({
  crypto: Type.Object({
    kdf: Kdf,
    checksum: Type.Object({ function: Type.Literal('sha256'), message: Type.String({ pattern: '^[0-9a-fA-F]{64}$' }) }),
    cipher: Type.Object({
      function: Type.Literal(CIPHER),
      params: Type.Object({ iv: Type.String({ pattern: '^[0-9a-fA-F]{32}$' }) }),
      message: Type.String({ pattern: '^[0-9a-fA-F]{64}$' }),
    }),
  }),
  pubkey: Type.Optional(Type.String()),
  path: Type.String(),
  version: Type.Literal(4),
})
type Keystore = Type.Static<typeof Keystore>
const isKeystore = Compile(Keystore)

/** A secret key with what a keystore says of it in the open. */
export interface KeystoreContents {
  readonly key: SecretKey
  /** EIP-2334, e.g. `m/12381/3600/0/0/0`; empty where the key comes from no seed. */
  readonly path: string
}

export type OpenedKeystore =
  | ({ readonly status: 'opened' } & KeystoreContents)
  /** A sentence's part, which quotes nothing of the keystore. */
  | { readonly status: 'refused'; readonly reason: string }

/** The keystore as JSON text. `password` is normalized (`normalizedPassword`). */
export async function writeKeystore({ key, path }: KeystoreContents, password: Uint8Array): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const iv = randomBytes(IV_BYTES)
  const secret = key.toBytes()
  const derived = await derivePbkdf2(password, salt, PBKDF2_ROUNDS, DERIVED_BYTES, 'sha256')
  try {
    const cipher = createCipheriv(CIPHER, derived.subarray(0, 16), iv)
    const message = Buffer.concat([cipher.update(secret), cipher.final()])
    const keystore = {
      crypto: {
        kdf: {
          function: 'pbkdf2',
          params: { dklen: DERIVED_BYTES, c: PBKDF2_ROUNDS, prf: 'hmac-sha256', salt: salt.toString('hex') },
          message: '',
        },
        checksum: { function: 'sha256', params: {}, message: checksumOf(derived, message).toString('hex') },
        cipher: { function: CIPHER, params: { iv: iv.toString('hex') }, message: message.toString('hex') },
      },
      description: '',
      pubkey: Buffer.from(key.toPublicKey().toBytes()).toString('hex'),
      path,
      uuid: randomUUID(),
      version: 4,
    }
    return JSON.stringify(keystore)
  } finally {
    derived.fill(0)
    secret.fill(0)
  }
}

/** Opens what anybody has written. `password` is normalized. */
export async function openKeystore(text: string, password: Uint8Array): Promise<OpenedKeystore> {
  const keystore = parseKeystore(text)
  if (keystore === undefined) return refused('it is no keystore of EIP-2335, version 4, with pbkdf2 or scrypt')
  const { cipher, checksum, kdf } = keystore.crypto
  if (kdf.function === 'scrypt' && scryptBytes(kdf.params) > SCRYPT_MEMORY_BYTES_MAX)
    return refused(`its scrypt takes more than ${SCRYPT_MEMORY_BYTES_MAX / 2 ** 20} MiB`)
  const message = Buffer.from(cipher.message, 'hex')
  const derived = await deriveKey(kdf, password)
  if (derived === undefined) return refused('its scrypt parameters are none')
  try {
    const expected = Buffer.from(checksum.message, 'hex')
    if (!timingSafeEqual(checksumOf(derived, message), expected)) return refused('the password is another one')
    const decipher = createDecipheriv(CIPHER, derived.subarray(0, 16), Buffer.from(cipher.params.iv, 'hex'))
    const secret = Buffer.concat([decipher.update(message), decipher.final()])
    return contentsOf(secret, keystore)
  } finally {
    derived.fill(0)
  }
}

function contentsOf(secret: Buffer, { pubkey, path }: Keystore): OpenedKeystore {
  try {
    const key = keyOf(secret)
    if (key === undefined) return refused('what it holds is no secret key')
    const made = Buffer.from(key.toPublicKey().toBytes()).toString('hex')
    const named = pubkey?.toLowerCase().replace(/^0x/, '')
    if (named !== undefined && named !== '' && named !== made) return refused('its key is not that of its public key')
    return { status: 'opened', key, path }
  } finally {
    secret.fill(0)
  }
}

/** Undefined for zero, and for numbers from the curve's order on. */
function keyOf(secret: Uint8Array): SecretKey | undefined {
  try {
    return secret.length === SECRET_BYTES ? SecretKey.fromBytes(secret) : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('BLST_')) return undefined
    throw error
  }
}

function parseKeystore(text: string): Keystore | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isKeystore.Check(value) ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

type ScryptParams = Extract<Keystore['crypto']['kdf'], { function: 'scrypt' }>['params']

function scryptBytes({ n, r, p }: ScryptParams): number {
  return 128 * r * (n + p)
}

/** Undefined where scrypt knows no such parameters. */
async function deriveKey(kdf: Keystore['crypto']['kdf'], password: Uint8Array): Promise<Buffer | undefined> {
  const salt = Buffer.from(kdf.params.salt, 'hex')
  if (kdf.function === 'pbkdf2') return await derivePbkdf2(password, salt, kdf.params.c, DERIVED_BYTES, 'sha256')
  const { n, r, p } = kdf.params
  const maxmem = scryptBytes(kdf.params) + SCRYPT_ROOM_BYTES
  try {
    return await deriveScrypt(password, salt, DERIVED_BYTES, { N: n, r, p, maxmem })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS') return undefined
    throw error
  }
}

function checksumOf(derived: Buffer, message: Uint8Array): Buffer {
  return createHash('sha256').update(derived.subarray(16, 32)).update(message).digest()
}

function refused(reason: string): OpenedKeystore {
  return { status: 'refused', reason }
}
