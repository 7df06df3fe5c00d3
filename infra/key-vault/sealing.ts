import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** AES-256-GCM with a random nonce of 96 bits, as NIST SP 800-38D recommends: good for 2^32 secrets under one key. */
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** First byte of what is sealed, so that another way of sealing can stand beside this one. */
const FORMAT = 1

export const SEALING_KEY_BYTES = 32

/**
 * Seals a secret: format (1 byte), nonce (12), tag (16), then as many bytes as the secret has. `context` says what it is and whose:
 * what was sealed for one place does not open at another. The key has 32 bytes.
 */
export function seal(key: Uint8Array, secret: Uint8Array, context: string): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(aadOf(context))
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()])
  return Buffer.concat([Uint8Array.of(FORMAT), nonce, cipher.getAuthTag(), sealed])
}

/** The secret, for the caller to overwrite; undefined when key or context is another, or a byte was changed. */
export function unseal(key: Uint8Array, envelope: Uint8Array, context: string): Buffer | undefined {
  const headBytes = 1 + NONCE_BYTES + TAG_BYTES
  if (envelope.length < headBytes || envelope[0] !== FORMAT) return undefined
  const nonce = envelope.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(aadOf(context))
  decipher.setAuthTag(envelope.subarray(1 + NONCE_BYTES, headBytes))
  const secret = decipher.update(envelope.subarray(headBytes))
  try {
    decipher.final()
    return secret
  } catch {
    secret.fill(0) // OpenSSL says no more than that the tag is another one
    return undefined
  }
}

function aadOf(context: string): Buffer {
  return Buffer.from(`epochline key vault: ${context}`)
}
