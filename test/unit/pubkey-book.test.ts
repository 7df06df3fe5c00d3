import fc from 'fast-check'
import { expect, it } from 'vitest'
import { PubkeyBook } from '../../ingest/epochs/pubkey-book.ts'

const hexOf = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`
/** Some that share all words by which they are looked for, so that they stand behind each other. */
const alike = (byte: number) => {
  const bytes = new Uint8Array(48)
  bytes[20] = byte
  return hexOf(bytes)
}
const key = fc.oneof(
  fc.integer({ min: 0, max: 255 }).map(alike),
  fc.uint8Array({ minLength: 48, maxLength: 48 }).map(hexOf),
)

it('knows what a set and a map of strings know', () => {
  const step = fc.record({
    pubkey: key,
    index: fc.option(fc.integer({ min: 0, max: 2 ** 32 - 2 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), fc.array(key, { maxLength: 50 }), (steps, others) => {
      const [book, pubkeys, indexOf] = [new PubkeyBook(), new Set<string>(), new Map<string, number>()]
      for (const { pubkey, index } of steps) {
        pubkeys.add(pubkey)
        if (index === undefined) book.add(pubkey)
        else {
          indexOf.set(pubkey, index)
          book.setIndex(pubkey, index)
        }
      }
      expect([book.size, book.indexed]).toEqual([pubkeys.size, indexOf.size])
      expect([...book]).toEqual([...pubkeys])
      expect(book.unknown()).toEqual([...pubkeys].filter((pubkey) => !indexOf.has(pubkey)))
      expect(book.indices()).toEqual(Uint32Array.from(indexOf.values()).sort())
      for (const pubkey of [...pubkeys, ...others]) {
        expect(book.has(pubkey)).toBe(pubkeys.has(pubkey))
        expect(book.indexOf(pubkey)).toBe(indexOf.get(pubkey))
      }
    }),
  )
})

it('has room for as many as come', () => {
  const book = new PubkeyBook()
  const nth = (index: number) => `0x${index.toString(16).padStart(8, '0')}${'b0'.repeat(44)}`
  for (let index = 0; index < 20_000; index++) book.setIndex(nth(index), index)
  expect(book.size).toBe(20_000)
  for (let index = 0; index < 20_000; index += 7) expect(book.indexOf(nth(index))).toBe(index)
  expect(book.has(nth(20_000))).toBe(false)
})

it('refuses what is no public key', () => {
  expect(() => new PubkeyBook().add('0x12')).toThrow('is no public key')
})
