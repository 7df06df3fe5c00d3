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

const nth = (index: number) => `0x${index.toString(16).padStart(8, '0')}${'b0'.repeat(44)}`

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
  for (let index = 0; index < 20_000; index++) book.setIndex(nth(index), index)
  expect(book.size).toBe(20_000)
  for (let index = 0; index < 20_000; index += 7) expect(book.indexOf(nth(index))).toBe(index)
  expect(book.has(nth(20_000))).toBe(false)
})

it('refuses what is no public key', () => {
  expect(() => new PubkeyBook().add('0x12')).toThrow('is no public key')
})

it("tells a key's credentials, the last that it was told, from all others", () => {
  const credentials = fc.oneof(fc.constantFrom(1, 2, 3), fc.integer({ min: 0, max: 2 ** 31 })).map((last) => {
    const bytes = new Uint8Array(32)
    bytes[0] = 1
    new DataView(bytes.buffer).setUint32(28, last)
    return bytes
  })
  const step = fc.record({ pubkey: key, told: fc.option(credentials, { nil: undefined }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1_500, size: 'max' }), fc.array(credentials), (steps, others) => {
      const [book, toldOf] = [new PubkeyBook(), new Map<string, Uint8Array | undefined>()]
      for (const { pubkey, told } of steps) {
        if (told === undefined) book.add(pubkey)
        else book.identify({ pubkey, index: 1, withdrawalCredentials: hexOf(told) })
        toldOf.set(pubkey, told ?? toldOf.get(pubkey))
      }
      const all = [...others, ...[...toldOf.values()].flatMap((told) => told ?? [])].slice(0, 20)
      const bytes = Buffer.concat(all)
      for (const [place, pubkey] of [...book].entries())
        for (const [at, one] of all.entries()) {
          const told = toldOf.get(pubkey)
          const isSame = told !== undefined && Buffer.compare(told, one) === 0
          if (book.hasCredentials(place, bytes, at * 32) !== isSame) expect.fail(`${pubkey}: ${hexOf(one)}`)
        }
    }),
    { numRuns: 15 },
  )
})

it('keeps what it was told of each when it grows, also of credentials that are looked for in the same place', () => {
  const book = new PubkeyBook()
  const credentialsOf = (index: number) => {
    const bytes = Buffer.alloc(32, 1)
    bytes.writeUInt32LE(index, index % 2 === 0 ? 12 : 28) // every second one differs from others where nobody looks for it
    return bytes
  }
  const count = 3_000
  for (let index = 0; index < count; index++) {
    book.identify({ pubkey: nth(index), index, withdrawalCredentials: hexOf(credentialsOf(index)) })
    if (index % 5 === 0) book.hold(index)
  }
  expect([book.size, book.held]).toEqual([count, count / 5])
  expect([...book.unheld().places]).toEqual(Array.from({ length: count }, (_, i) => i).filter((i) => i % 5 !== 0))
  for (let place = 0; place < count; place++) {
    expect(book.indexOf(book.keyAt(place))).toBe(place)
    expect(book.hasCredentials(place, credentialsOf(place), 0)).toBe(true)
    expect(book.hasCredentials(place, credentialsOf(place + 2), 0)).toBe(false)
  }
})
