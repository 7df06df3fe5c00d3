import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/schema'

/** A coordinate of a point of P-256: 32 bytes, base64url without padding. */
const Coordinate = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })
/** Of names that people give their keys. */
const KID_MAX = 200

/** Somebody's public key, which something is encrypted to: a point of P-256, as a JWK (RFC 7518, 6.2.1) has it. */
export const RecipientKey = Type.Object({
  x: Coordinate,
  y: Coordinate,
  /** What its owner calls it. */
  kid: Type.Optional(Type.String({ maxLength: KID_MAX })),
})
export type RecipientKey = Static<typeof RecipientKey>

export type ParsedRecipient =
  | { readonly status: 'parsed'; readonly key: RecipientKey }
  /** `reason` is a sentence's part, without anything of the text. */
  | { readonly status: 'refused'; readonly reason: string }

const Jwk = Type.Object({ kty: Type.Literal('EC'), crv: Type.Literal('P-256'), ...RecipientKey.properties })
const isJwk = Compile(Jwk)
/** Members of a JWK that only a private or a symmetric key has (RFC 7518, 6.2.2, 6.3.2, 6.4.1). */
const SECRET_MEMBERS = ['d', 'k', 'p', 'q'] as const

/** Reads a public key of P-256: a JWK (RFC 7517), or PEM of SubjectPublicKeyInfo. A private key is refused, whoever it is of. */
export function parseRecipientKey(text: string): ParsedRecipient {
  if (text.includes('PRIVATE KEY')) return refused('it is a private key, which its owner alone must have')
  const jwk = text.includes('-----BEGIN PUBLIC KEY-----') ? jwkOfPem(text) : jwkOfJson(text)
  if (jwk === undefined) return refused('it is neither a JWK nor PEM of a public key')
  if (SECRET_MEMBERS.some((member) => member in jwk))
    return refused('it is a private key, which its owner alone must have')
  if (!isJwk.Check(jwk)) return refused('it is no key of the curve P-256')
  const { x, y, kid } = jwk
  const key = kid === undefined ? { x, y } : { x, y, kid }
  return pointOf(key) === undefined ? refused('it is no point of the curve P-256') : { status: 'parsed', key }
}

/** The point of a key; undefined where the curve has none there. */
export function pointOf({ x, y }: RecipientKey): KeyObject | undefined {
  try {
    return createPublicKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y } })
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined
    throw error
  }
}

/** What names the key whoever calls it what: its thumbprint with SHA-256, base64url (RFC 7638). */
export function thumbprintOf({ x, y }: RecipientKey): string {
  const required = JSON.stringify({ crv: 'P-256', kty: 'EC', x, y })
  return createHash('sha256').update(required).digest('base64url')
}

function jwkOfPem(text: string): object | undefined {
  try {
    return createPublicKey(text).export({ format: 'jwk' })
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined
    throw error
  }
}

function jwkOfJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function refused(reason: string): ParsedRecipient {
  return { status: 'refused', reason }
}
