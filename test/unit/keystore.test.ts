import { createDecipheriv, createHash, pbkdf2Sync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { SecretKey } from '@chainsafe/blst'
import { describe, expect, test } from 'vitest'
import { openKeystore, writeKeystore } from '../../infra/key-vault/keystore.ts'
import { normalizedPassword } from '../../infra/key-vault/password.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { fixturePath, HAS_FIXTURES } from '../fixture-folder.ts'

/** Of the vectors of EIP-2335. */
const VECTOR_PASSWORD = '𝔱𝔢𝔰𝔱𝔭𝔞𝔰𝔰𝔴𝔬𝔯𝔡🔑'
const VECTOR_SECRET = '0x000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f'

const passwordOf = (text: string) => normalizedPassword(Buffer.from(text))
const KEY = SecretKey.fromKeygen(new Uint8Array(32).fill(7))
const PATH = 'm/12381/3600/5/0/0'

describe.skipIf(!HAS_FIXTURES)('the vectors of EIP-2335', () => {
  test.each([
    ['test0.json', 'm/12381/60/0/0'],
    ['test1.json', 'm/12381/60/3141592653/589793238'],
  ])('%s is opened', async (name, path) => {
    const text = readFileSync(fixturePath('staking', name), 'utf8')
    const opened = await openKeystore(text, passwordOf(VECTOR_PASSWORD))
    expect(opened).toMatchObject({ status: 'opened', path })
    if (opened.status === 'opened') expect(hexOf(opened.key.toBytes())).toBe(VECTOR_SECRET)
  })

  test('their password is the one that the standard makes of it', () => {
    expect(hexOf(passwordOf(VECTOR_PASSWORD))).toBe('0x7465737470617373776f7264f09f9491')
  })

  test('another password is told, and no other thing of the keystore', async () => {
    const text = readFileSync(fixturePath('staking', 'test0.json'), 'utf8')
    expect(await openKeystore(text, passwordOf('testpassword'))).toEqual({
      status: 'refused',
      reason: 'the password is another one',
    })
  })
})

test.each([
  ['a\u0000b\u001fc\u007fd', 'abcd'],
  ['a\u0080b\u009fc', 'abc'],
  ['password\r\n', 'password'],
  ['é', 'e\u0301'],
  ['\u00a0x', ' x'],
  ['Ⅳ', 'IV'],
  ['ÿ', 'y\u0308'],
])('a password is decomposed and has no control codes: %j', (text, normal) => {
  const bytes = Buffer.from(text)
  expect(normalizedPassword(bytes).toString()).toBe(normal)
  expect(bytes.every((byte) => byte === 0)).toBe(true)
})

test('what is written has the rounds of the standard, and opens by the standard’s steps and by ours', async () => {
  const password = passwordOf('a password')
  const text = await writeKeystore({ key: KEY, path: PATH }, password)
  const keystore = JSON.parse(text)
  expect(keystore).toMatchObject({
    version: 4,
    path: PATH,
    pubkey: hexOf(KEY.toPublicKey().toBytes()).slice(2),
    uuid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4/),
    crypto: { kdf: { function: 'pbkdf2', params: { c: 262_144, dklen: 32, prf: 'hmac-sha256' } } },
  })
  const { kdf, cipher, checksum } = keystore.crypto
  const derived = pbkdf2Sync('a password', Buffer.from(kdf.params.salt, 'hex'), 262_144, 32, 'sha256')
  const message = Buffer.from(cipher.message, 'hex')
  expect(createHash('sha256').update(derived.subarray(16)).update(message).digest('hex')).toBe(checksum.message)
  const decipher = createDecipheriv('aes-128-ctr', derived.subarray(0, 16), Buffer.from(cipher.params.iv, 'hex'))
  expect(hexOf(decipher.update(message))).toBe(hexOf(KEY.toBytes()))
  const opened = await openKeystore(text, password)
  expect(opened.status === 'opened' && hexOf(opened.key.toBytes())).toBe(hexOf(KEY.toBytes()))
  expect(text).not.toContain(hexOf(KEY.toBytes()).slice(2))
})

test('two keystores of one key and password have nothing random in common', async () => {
  const password = passwordOf('a password')
  const [one, other] = [
    await writeKeystore({ key: KEY, path: PATH }, password),
    await writeKeystore({ key: KEY, path: PATH }, password),
  ]
  const randomsOf = (text: string) => {
    const { crypto, uuid } = JSON.parse(text)
    return [crypto.kdf.params.salt, crypto.cipher.params.iv, crypto.cipher.message, uuid]
  }
  const randoms = [...randomsOf(one), ...randomsOf(other)]
  expect(new Set(randoms).size).toBe(randoms.length)
})

describe('what is no keystore is refused', () => {
  const password = passwordOf('a password')
  const scryptOf = (n: number) => ({ function: 'scrypt', params: { dklen: 32, n, r: 8, p: 1, salt: '00' } })
  const spoilt: readonly [string, readonly string[], unknown, RegExp][] = [
    ['another version', ['version'], 3, /no keystore/],
    ['an unknown derivation', ['crypto', 'kdf', 'function'], 'argon2', /no keystore/],
    ['too many rounds', ['crypto', 'kdf', 'params', 'c'], 2 ** 30, /no keystore/],
    ['too much memory', ['crypto', 'kdf'], scryptOf(2 ** 22), /more than 512 MiB/],
    ['an impossible scrypt', ['crypto', 'kdf'], scryptOf(3), /parameters are none/],
    ['a changed secret', ['crypto', 'cipher', 'message'], '00'.repeat(32), /password is another/],
    ['another public key', ['pubkey'], 'ab'.repeat(48), /not that of its public key/],
  ]

  /** The same with another value at a path. */
  function replaced(value: unknown, [name, ...rest]: readonly string[], by: unknown): unknown {
    if (name === undefined) return by
    const object = value as Readonly<Record<string, unknown>>
    return { ...object, [name]: replaced(object[name], rest, by) }
  }

  test('no JSON', async () => {
    expect(await openKeystore('{', password)).toMatchObject({ status: 'refused' })
  })

  test.each(spoilt)('%s', async (_, path, by, reason) => {
    const keystore = replaced(JSON.parse(await writeKeystore({ key: KEY, path: PATH }, password)), path, by)
    const opened = await openKeystore(JSON.stringify(keystore), password)
    expect(opened).toEqual({ status: 'refused', reason: expect.stringMatching(reason) })
  })
})
