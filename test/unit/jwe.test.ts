import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { encryptTo } from '../../infra/key-vault/jwe.ts'
import { parseRecipientKey, thumbprintOf } from '../../schemas/recipient-key.ts'
import { agreedKey, openJwe, type PrivateJwk } from './open-jwe.ts'

/** RFC 7518, appendix C. */
const ALICE = {
  kty: 'EC',
  crv: 'P-256',
  x: 'gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0',
  y: 'SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps',
} as const
const BOB: PrivateJwk = {
  kty: 'EC',
  crv: 'P-256',
  x: 'weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ',
  y: 'e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck',
  d: 'VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw',
}
const { d: _, ...BOB_PUBLIC } = BOB

function jwkOf(key: KeyObject): object {
  return key.export({ format: 'jwk' })
}

function parsed(value: object | string) {
  return parseRecipientKey(typeof value === 'string' ? value : JSON.stringify(value))
}

function keyOf(value: object | string) {
  const outcome = parsed(value)
  if (outcome.status === 'refused') throw new Error(outcome.reason)
  return outcome.key
}

test('the opener of the tests agrees on the key of RFC 7518, appendix C', async () => {
  const header = { alg: 'ECDH-ES', enc: 'A128GCM', apu: 'QWxpY2U', apv: 'Qm9i', epk: ALICE }
  expect((await agreedKey(header, BOB)).toString('base64url')).toBe('VqqN6vgjbSBcIijNcacQGg')
})

describe('what is encrypted to a key', () => {
  test('is opened with it alone, under another ephemeral key each time', async () => {
    const text = JSON.stringify({ signature: `0x${'ab'.repeat(96)}` })
    const jwes = [0, 1].map(() => encryptTo(keyOf(BOB_PUBLIC), Buffer.from(text)))
    const [first, second] = await Promise.all(jwes.map((jwe) => openJwe(jwe, BOB)))
    expect([first?.text, second?.text]).toEqual([text, text])
    expect(first?.header).toMatchObject({ alg: 'ECDH-ES', enc: 'A256GCM' })
    expect(first?.header.epk).not.toEqual(second?.header.epk)
    for (const jwe of jwes) expect(jwe).not.toContain(Buffer.from('abab').toString('base64url'))
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
    await expect(openJwe(jwes[0] ?? '', stranger as unknown as PrivateJwk)).rejects.toThrow()
  })

  test('is refused by its recipient when its header or its content was changed', async () => {
    const jwe = encryptTo(keyOf({ ...BOB_PUBLIC, kid: 'bob' }), Buffer.from('text'))
    expect((await openJwe(jwe, BOB)).header.kid).toBe('bob')
    const [header = '', key, nonce, content = '', tag] = jwe.split('.')
    const otherHeader = Buffer.from(Buffer.from(header, 'base64url').toString().replace('bob', 'eve'))
    const otherContent = Buffer.from(Buffer.from(content, 'base64url').map((byte) => byte ^ 1))
    const changed = [
      [otherHeader.toString('base64url'), key, nonce, content, tag],
      [header, key, nonce, otherContent.toString('base64url'), tag],
    ]
    for (const parts of changed) await expect(openJwe(parts.join('.'), BOB)).rejects.toThrow()
  })
})

describe("a recipient's key", () => {
  test('is read from a JWK and from PEM alike, and has the thumbprint of RFC 7638', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString()
    expect(keyOf(pem)).toEqual(keyOf(jwkOf(publicKey)))
    // Both computed with the Python package jwcrypto 1.6.1.
    expect(thumbprintOf(keyOf(BOB_PUBLIC))).toBe('Vy57XrArUrW0NbpI12tEzDHABxMwrTh6HHXRenSpnCo')
    expect(thumbprintOf(keyOf({ ...ALICE, kid: 'alice' }))).toBe('_GK0r6GCoJt9zcssg9lay4obIxgCq05ntiRymRHADSU')
  })

  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  test.each<[string, object | string, RegExp]>([
    ['a private JWK', BOB, /private/],
    ['a private key in PEM', privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), /private/],
    ['a symmetric key', { kty: 'oct', k: 'AAAA' }, /private/],
    ['a key of another curve', jwkOf(publicKey), /P-256/],
    ['one in PEM', publicKey.export({ format: 'pem', type: 'spki' }).toString(), /P-256/],
    ['a key of RSA', rsa.publicKey.export({ format: 'pem', type: 'spki' }).toString(), /P-256/],
    ['a point beside the curve', { ...BOB_PUBLIC, y: ALICE.y }, /no point/],
    ['a coordinate that is too short', { ...BOB_PUBLIC, x: 'AAAA' }, /P-256/],
    ['PEM of nothing', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n', /neither/],
    ['a number', '7', /neither/],
    ['no JSON', 'not a key', /neither/],
    ['nothing', '', /neither/],
  ])('is not %s', (_name, value, reason) => {
    expect(parsed(value)).toMatchObject({ status: 'refused', reason: expect.stringMatching(reason) })
  })
})
