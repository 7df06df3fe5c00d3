import type { webcrypto } from 'node:crypto'

/** A private key of P-256 as a JWK. */
export interface PrivateJwk {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly d: string
}

/** Protected header of a JWE with ECDH-ES (RFC 7518, 4.6.1). */
export interface AgreementHeader {
  readonly alg: string
  readonly enc: string
  readonly kid?: string
  readonly apu?: string
  readonly apv?: string
  readonly epk: Omit<PrivateJwk, 'd'>
}

export interface OpenedJwe {
  readonly header: AgreementHeader
  readonly text: string
}

/** Lengths of the keys of RFC 7518, 5.1. */
const KEY_BITS: Readonly<Record<string, number>> = { A128GCM: 128, A256GCM: 256 }

/** Opens a JWE with ECDH-ES as its recipient does, from RFC 7516, 5.2, and RFC 7518, 4.6 alone, with Web Crypto. Rejects where it cannot. */
export async function openJwe(jwe: string, key: PrivateJwk): Promise<OpenedJwe> {
  const parts = jwe.split('.')
  const [header64 = '', encryptedKey, nonce = '', encrypted = '', tag = ''] = parts
  if (parts.length !== 5 || encryptedKey !== '') throw new Error('no JWE with direct key agreement')
  const header = JSON.parse(Buffer.from(header64, 'base64url').toString()) as AgreementHeader
  const agreed = await agreedKey(header, key)
  const content = await crypto.subtle.importKey('raw', agreed, 'AES-GCM', false, ['decrypt'])
  const parameters = { name: 'AES-GCM', iv: bytesOf(nonce), additionalData: Buffer.from(header64), tagLength: 128 }
  const sealed = Buffer.concat([bytesOf(encrypted), bytesOf(tag)])
  const plain = await crypto.subtle.decrypt(parameters, content, sealed)
  return { header, text: Buffer.from(plain).toString() }
}

/** The key that both sides derive. */
export async function agreedKey(
  { enc, apu = '', apv = '', epk }: AgreementHeader,
  key: PrivateJwk,
): Promise<Buffer<ArrayBuffer>> {
  const curve = { name: 'ECDH', namedCurve: 'P-256' }
  const [own, other] = await Promise.all([
    crypto.subtle.importKey('jwk', key as webcrypto.JsonWebKey, curve, false, ['deriveBits']),
    crypto.subtle.importKey('jwk', epk as webcrypto.JsonWebKey, curve, false, []),
  ])
  const z = Buffer.from(await crypto.subtle.deriveBits({ name: 'ECDH', public: other }, own, 256))
  const bits = KEY_BITS[enc]
  if (bits === undefined) throw new Error(`no key length of ${enc}`)
  const counted = (bytes: Buffer) => Buffer.concat([bigEndian(bytes.length), bytes])
  const info = [counted(Buffer.from(enc)), counted(bytesOf(apu)), counted(bytesOf(apv)), bigEndian(bits)]
  const digest = await crypto.subtle.digest('SHA-256', Buffer.concat([bigEndian(1), z, ...info]))
  return Buffer.from(digest.slice(0, bits / 8))
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'base64url')
}

function bigEndian(value: number): Buffer {
  return Buffer.from(value.toString(16).padStart(8, '0'), 'hex')
}
