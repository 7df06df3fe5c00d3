import { createCipheriv, diffieHellman, generateKeyPairSync, hash, randomBytes } from 'node:crypto'
import { AppError } from '../../schemas/errors.ts'
import { pointOf, type RecipientKey } from '../../schemas/recipient-key.ts'

const ENCRYPTION = 'A256GCM'
const KEY_BITS = 256
/** RFC 7518, 5.3: a nonce of 96 bits, used once, since every key is. */
const NONCE_BYTES = 12

/**
 * Encrypts to the owner of a public key: a JWE in compact serialization (RFC 7516, 7.1) with ECDH-ES by an ephemeral key (RFC 7518,
 * 4.6) and A256GCM, which the usual tools for JOSE open. Throws AppError `usage` for a key that is no point of its curve.
 */
export function encryptTo(recipient: RecipientKey, plain: Uint8Array): string {
  const publicKey = pointOf(recipient)
  if (publicKey === undefined) throw new AppError('usage', 'The key of the recipient is no point of the curve P-256.')
  const ephemeral = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x, y } = ephemeral.publicKey.export({ format: 'jwk' })
  const header = Buffer.from(
    JSON.stringify({
      alg: 'ECDH-ES',
      enc: ENCRYPTION,
      ...(recipient.kid === undefined ? {} : { kid: recipient.kid }),
      epk: { kty: 'EC', crv: 'P-256', x, y },
    }),
  ).toString('base64url')
  const secret = diffieHellman({ privateKey: ephemeral.privateKey, publicKey })
  const key = contentKey(secret)
  try {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', key, nonce)
    cipher.setAAD(Buffer.from(header, 'ascii'))
    const encrypted = Buffer.concat([cipher.update(plain), cipher.final()])
    // The second part, an encrypted key, is empty: both sides derive it.
    return [header, '', ...[nonce, encrypted, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join('.')
  } finally {
    secret.fill(0)
    key.fill(0)
  }
}

/** 32 bytes: one round of Concat KDF with SHA-256, for neither party a name (RFC 7518, 4.6.2). */
function contentKey(secret: Uint8Array): Buffer {
  const round = uint32(1)
  const algorithm = Buffer.concat([uint32(ENCRYPTION.length), Buffer.from(ENCRYPTION)])
  const noName = uint32(0)
  const derived = Buffer.concat([round, secret, algorithm, noName, noName, uint32(KEY_BITS)])
  try {
    return hash('sha256', derived, 'buffer')
  } finally {
    derived.fill(0)
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
