import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deriveCommonKey, deriveKey, deriveSigningKey } from '../../infra/key-vault/derive.ts'
import { fixturePath, HAS_FIXTURES } from '../fixture-folder.ts'

interface TreeVector {
  readonly seed: Uint8Array
  readonly master: bigint
  readonly index: number
  readonly child: bigint
}

/** The keys are bare integers above 2^53, so they are read from the text. */
function treeVectors(): readonly TreeVector[] {
  const text = readFileSync(fixturePath('staking', 'tree_kdf.json'), 'utf8')
  return [...text.matchAll(/\{[^{}]+\}/g)].map(([vector]) => {
    const field = (name: string) => new RegExp(`"${name}":\\s*"?(\\w+)`).exec(vector)?.[1] ?? ''
    return {
      seed: Buffer.from(field('seed'), 'hex'),
      master: BigInt(field('master_SK')),
      index: Number(field('child_index')),
      child: BigInt(field('child_SK')),
    }
  })
}

/** Every BIP-39 seed of the file: [entropy, words, seed]. */
function mnemonicSeeds(): readonly Uint8Array[] {
  const file = fixturePath('staking', 'mnemonic.json')
  const languages = JSON.parse(readFileSync(file, 'utf8')) as Record<string, [string, string, string][]>
  return Object.values(languages).flatMap((rows) => rows.map(([, , seed]) => Buffer.from(seed, 'hex')))
}

describe.skipIf(!HAS_FIXTURES)('the vectors of EIP-2333', () => {
  test('are met: master key and child of each seed', () => {
    const vectors = treeVectors()
    expect(vectors).toHaveLength(4)
    for (const { seed, master, index, child } of vectors) {
      expect(numberOf(deriveKey(seed, []).toBytes()), `master of ${index}`).toBe(master)
      expect(numberOf(deriveKey(seed, [index]).toBytes()), `child ${index}`).toBe(child)
    }
  })

  test('hold for the witness of the next tests too', () => {
    for (const { seed, master, index, child } of treeVectors()) {
      expect(witnessKey(seed, [])).toBe(master)
      expect(witnessKey(seed, [index])).toBe(child)
    }
  })

  test('seeds of mnemonics have the signing keys of EIP-2334', () => {
    const seeds = mnemonicSeeds()
    expect(seeds.length).toBeGreaterThan(20)
    for (const [i, seed] of seeds.slice(0, 8).entries()) {
      const key = deriveSigningKey(deriveCommonKey(seed), i).toBytes()
      expect(numberOf(key), `seed ${i}`).toBe(witnessKey(seed, [12381, 3600, i, 0, 0]))
    }
  })
})

test('random seeds have the signing keys of EIP-2334 at any index', () => {
  const seed = fc.uint8Array({ minLength: 32, maxLength: 64 })
  const index = fc.oneof(fc.nat(1000), fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constant(2 ** 32 - 1))
  fc.assert(
    fc.property(seed, index, (seedBytes, i) => {
      const key = deriveSigningKey(deriveCommonKey(seedBytes), i).toBytes()
      expect(numberOf(key)).toBe(witnessKey(seedBytes, [12381, 3600, i, 0, 0]))
    }),
    { numRuns: 8 },
  )
})

// EIP-2333 by its text, on node:crypto: another hand than the library that the vault derives with.

/** Order of the group of BLS12-381. */
const R = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n

function witnessKey(seed: Uint8Array, path: readonly number[]): bigint {
  return path.reduce((key, index) => hkdfModR(compressedLamportKey(key, index)), hkdfModR(seed))
}

function hkdfModR(ikm: Uint8Array): bigint {
  let salt = sha256(Buffer.from('BLS-SIG-KEYGEN-SALT-'))
  for (;;) {
    const okm = hkdfSync('sha256', Buffer.concat([ikm, Buffer.of(0)]), salt, Buffer.of(0, 48), 48)
    const key = numberOf(new Uint8Array(okm)) % R
    if (key !== 0n) return key
    salt = sha256(salt)
  }
}

function compressedLamportKey(parent: bigint, index: number): Uint8Array {
  const salt = Buffer.alloc(4)
  salt.writeUInt32BE(index)
  const ikm = Buffer.from(parent.toString(16).padStart(64, '0'), 'hex')
  const flipped = ikm.map((byte) => byte ^ 0xff)
  const chunks = [ikm, flipped].flatMap((half) => lamportSecrets(half, salt).map(sha256))
  return sha256(Buffer.concat(chunks))
}

function lamportSecrets(ikm: Uint8Array, salt: Uint8Array): readonly Uint8Array[] {
  const key = createHmac('sha256', salt).update(ikm).digest()
  const secrets: Buffer[] = []
  for (let i = 1; i <= 255; i++) {
    const before = secrets.at(-1) ?? Buffer.alloc(0)
    secrets.push(createHmac('sha256', key).update(before).update(Buffer.of(i)).digest())
  }
  return secrets
}

function sha256(data: Uint8Array): Buffer {
  return createHash('sha256').update(data).digest()
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}
