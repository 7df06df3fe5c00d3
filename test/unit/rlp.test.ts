import fc from 'fast-check'
import { bytesToHex, hexToBytes, numberToHex, toRlp } from 'viem'
import { expect, test } from 'vitest'
import { decodeRlp, encodeRlp, type RlpItem, rlpInteger } from '../../schemas/eth/rlp.ts'

type HexItem = `0x${string}` | readonly HexItem[]

/** Lengths around those where the form of an item changes: 55 bytes, 255 and 65,535. */
const strings = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc.constantFrom(55, 56, 255, 256, 65_535, 65_536).map((length) => new Uint8Array(length).fill(length)),
  fc.integer({ min: 0, max: 255 }).map((byte) => Uint8Array.of(byte)),
)
const { item } = fc.letrec<{ item: RlpItem }>((tie) => ({
  item: fc.oneof({ maxDepth: 4 }, strings, fc.array(tie('item'), { maxLength: 6 })),
}))

const toHexItem = (one: RlpItem): HexItem => (one instanceof Uint8Array ? bytesToHex(one) : one.map(toHexItem))

test('items are encoded as another library encodes them, and come back', () => {
  fc.assert(
    fc.property(item, (one) => {
      const encoded = encodeRlp(one)
      expect(bytesToHex(encoded)).toBe(toRlp(toHexItem(one) as `0x${string}`))
      expect(toHexItem(decodeRlp(encoded) ?? [])).toEqual(toHexItem(one))
    }),
  )
})

test('an integer is its shortest bytes, and zero none', () => {
  const integers = fc.oneof(fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }), fc.maxSafeNat().map(BigInt).filter(Boolean))
  fc.assert(
    fc.property(integers, (value) => {
      const digits = numberToHex(value).slice(2)
      expect(rlpInteger(value)).toEqual(Buffer.from(hexToBytes(`0x${digits.length % 2 === 0 ? '' : '0'}${digits}`)))
    }),
  )
  expect([rlpInteger(0), rlpInteger(0n)]).toEqual([new Uint8Array(0), new Uint8Array(0)])
  expect(rlpInteger(1_024)).toEqual(Buffer.from([4, 0]))
})
