import { createPrivateKey, createPublicKey, hash, type KeyObject, sign } from 'node:crypto'

/** The instance's key for what its accounts show to others. */
export interface StatementSigner {
  /** Of the text's bytes in UTF-8: Ed25519 (RFC 8032), 64 bytes. */
  sign(text: string): Buffer
  /** SubjectPublicKeyInfo as PEM (RFC 8410). */
  publicKeyPem(): string
  /** Tells keys apart: the beginning of SHA-256 of the SubjectPublicKeyInfo, hex. */
  keyId(): string
}

/** Of a PrivateKeyInfo of Ed25519 (RFC 8410, section 7), up to the 32 bytes of the key. */
const PRIVATE_KEY_INFO = Buffer.from('302e020100300506032b657004220420', 'hex')
const KEY_ID_CHARACTERS = 16

/** `readKey` is asked at the first use, for 32 bytes that are overwritten then; what it throws is thrown by each use until it is there. */
export function openStatementSigner(readKey: () => Buffer): StatementSigner {
  let known: { readonly privateKey: KeyObject; readonly publicKey: KeyObject } | undefined
  const keys = () => {
    known ??= toKeys(readKey())
    return known
  }
  return {
    sign: (text) => sign(null, Buffer.from(text), keys().privateKey),
    publicKeyPem: () => keys().publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    keyId: () =>
      hash('sha256', keys().publicKey.export({ type: 'spki', format: 'der' }), 'hex').slice(0, KEY_ID_CHARACTERS),
  }
}

function toKeys(secret: Buffer) {
  const info = Buffer.concat([PRIVATE_KEY_INFO, secret])
  try {
    const privateKey = createPrivateKey({ key: info, format: 'der', type: 'pkcs8' })
    return { privateKey, publicKey: createPublicKey(privateKey) }
  } finally {
    secret.fill(0)
    info.fill(0)
  }
}
