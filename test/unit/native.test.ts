import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { InsertColumns } from '../../infra/ports/warehouse.ts'
import { blockRows, encodeNativeBlock, sliceColumns } from '../../infra/warehouse/native.ts'
import { CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { ColumnParts, type Numbers } from '../../schemas/tables/column-parts.ts'

const encode = (columns: InsertColumns, types: Record<string, string>): Buffer =>
  Buffer.concat(encodeNativeBlock(columns, types))

function hex(columns: InsertColumns, types: Record<string, string>): string {
  return encode(columns, types).toString('hex')
}

/** A reader of its own: Native as its documentation tells it, for the types of the tests below. */
function decodeNativeBlock(block: Buffer): Record<string, { type: string; values: unknown[] }> {
  let at = 0
  const varint = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = block[at++] ?? 0
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
  }
  const text = () => {
    const length = varint()
    at += length
    return block.toString('utf8', at - length, at)
  }
  const integer = (bytes: number, signed: boolean) => {
    const digits = Buffer.from(block.subarray(at, at + bytes))
      .reverse()
      .toString('hex')
    at += bytes
    return signed ? BigInt.asIntN(bytes * 8, BigInt(`0x${digits}`)) : BigInt(`0x${digits}`)
  }
  /** One dictionary for the block, with its own texts (version 1, flags 2^9 and 2^10), and each row's place in it. */
  const dictionary = () => {
    expect(integer(8, false)).toBe(1n)
    const flags = integer(8, false)
    const bytes = 2 ** Number(flags & 0xffn)
    expect(flags & ~0xffn).toBe(0x600n)
    const texts = Array.from({ length: Number(integer(8, false)) }, () => text())
    expect(new Set(texts).size).toBe(texts.length)
    return Array.from({ length: Number(integer(8, false)) }, () => texts[Number(integer(bytes, false))])
  }
  const columns = varint()
  const rows = varint()
  const decoded: Record<string, { type: string; values: unknown[] }> = {}
  for (let column = 0; column < columns; column++) {
    const name = text()
    const type = text()
    if (type === 'LowCardinality(String)' && rows > 0) {
      decoded[name] = { type, values: dictionary() }
      continue
    }
    const [, unsigned, bits] = /^(U?)Int(\d+)$/.exec(type) ?? []
    const read = bits === undefined ? text : () => integer(Number(bits) / 8, unsigned === '')
    decoded[name] = { type, values: Array.from({ length: rows }, () => read()) }
  }
  expect(at).toBe(block.length)
  return decoded
}

describe('a Native block', () => {
  test('begins with the numbers of columns and rows, then name, type and values of each column', () => {
    expect(hex({ a: Uint16Array.of(1, 258) }, { a: 'UInt16' })).toBe('010201610655496e74313601000201')
    expect(hex({ s: ['a', 'bc'] }, { s: 'String' })).toBe(
      `0102017306${Buffer.from('String').toString('hex')}0161026263`,
    )
  })

  test('writes lengths above 127 as several bytes', () => {
    const block = encode({ s: ['x'.repeat(300)] }, { s: 'String' })
    expect(block.subarray(11, 13).toString('hex')).toBe('ac02')
    expect(block.length).toBe(13 + 300)
  })

  test.each([
    ['UInt8', 0n, 255n],
    ['UInt16', 0n, 65_535n],
    ['UInt32', 0n, 2n ** 32n - 1n],
    ['UInt64', 0n, 2n ** 64n - 1n],
    ['UInt128', 0n, 2n ** 128n - 1n],
    ['UInt256', 0n, 2n ** 256n - 1n],
    ['Int8', -128n, 127n],
    ['Int16', -32_768n, 32_767n],
    ['Int32', -(2n ** 31n), 2n ** 31n - 1n],
    ['Int64', -(2n ** 63n), 2n ** 63n - 1n],
    ['Int128', -(2n ** 127n), 2n ** 127n - 1n],
    ['Int256', -(2n ** 255n), 2n ** 255n - 1n],
  ])('holds every %s from %s to %s and refuses the next', (type, min, max) => {
    const decode = (values: bigint[]) => decodeNativeBlock(encode({ x: values }, { x: type })).x?.values
    expect(decode([min, max])).toEqual([min, max])
    fc.assert(
      fc.property(fc.array(fc.bigInt(min, max)), (values) => {
        expect(decode(values)).toEqual(values)
      }),
    )
    for (const outside of [min - 1n, max + 1n]) {
      expect(() => decode([min, outside])).toThrow(`Column x, row 1: ${outside} is outside of ${min} … ${max}.`)
    }
  })

  test('copies typed arrays of the own width and widens narrower ones', () => {
    fc.assert(
      fc.property(fc.int32Array(), (values) => {
        const decoded = decodeNativeBlock(encode({ own: values, wide: values }, { own: 'Int32', wide: 'Int256' }))
        const expected = Array.from(values, BigInt)
        expect(decoded).toEqual({
          own: { type: 'Int32', values: expected },
          wide: { type: 'Int256', values: expected },
        })
      }),
    )
  })

  test('holds a view of a larger buffer and nothing around it', () => {
    const view = BigInt64Array.of(1n, -2n, 3n).subarray(1, 2)
    expect(decodeNativeBlock(encode({ x: view }, { x: 'Int64' })).x?.values).toEqual([-2n])
  })

  test('holds any text, repeated or not', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constant('again'))), (values) => {
        const decoded = decodeNativeBlock(encode({ x: values }, { x: 'LowCardinality(String)' }))
        expect(decoded.x?.values).toEqual(values.map((text) => Buffer.from(text).toString()))
      }),
    )
  })

  test.each([
    [1, 'LowCardinality(String)'],
    [256, 'LowCardinality(String)'],
    [257, 'LowCardinality(String)'],
    [65_536, 'LowCardinality(String)'],
    [65_537, 'String'],
  ])('has each of %i texts once, as %s', (texts, type) => {
    const values = Array.from({ length: texts + 3 }, (_, row) => `text ${row % texts}`)
    expect(decodeNativeBlock(encode({ x: values }, { x: 'LowCardinality(String)' }))).toEqual({ x: { type, values } })
  })

  test('holds texts by their codes, of those that no row has, too', () => {
    const coded = new CodedTexts(['none', 'a', 'zażółć'], Uint8Array.of(2, 1, 1))
    const values = ['zażółć', 'a', 'a']
    for (const type of ['LowCardinality(String)', 'String'])
      expect(decodeNativeBlock(encode({ x: coded }, { x: type })).x).toEqual({ type, values })
    expect(hex({ f: coded }, { f: 'FixedString(10)' })).toBe(hex({ f: values }, { f: 'FixedString(10)' }))
  })

  test('holds texts of an Enum by their numbers where these are the codes, else as texts', () => {
    const coded = new CodedTexts(['none', 'a'], Uint8Array.of(1, 0, 1))
    const numbered = "Enum8('none' = 0, 'a' = 1)"
    expect(hex({ x: coded }, { x: numbered })).toBe(hex({ x: Int32Array.of(1, 0, 1) }, { x: numbered }))
    for (const other of ["Enum8('none' = 1, 'a' = 0)", "Enum8('none' = 0, 'a' = 1, 'b' = 2)"])
      expect(decodeNativeBlock(encode({ x: coded }, { x: other })).x).toEqual({
        type: 'String',
        values: ['a', 'none', 'a'],
      })
  })

  test('pads a FixedString with zeros and takes one that is packed already', () => {
    const types = { f: 'FixedString(3)' }
    expect(hex({ f: ['ab', 'é'] }, types)).toBe(hex({ f: Uint8Array.of(0x61, 0x62, 0, 0xc3, 0xa9, 0) }, types))
    expect(() => hex({ f: ['abcd'] }, types)).toThrow('Column f, row 0: the text is longer than 3 bytes.')
    expect(() => hex({ f: Uint8Array.of(1, 2) }, types)).toThrow('Column f: 2 bytes are no multiple of 3.')
  })

  test('holds a column in parts as it holds the whole of them, and so do ranges of its rows', () => {
    const numbers = fc.array(fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 9 }), {
      minLength: 1,
      maxLength: 5,
    })
    fc.assert(
      fc.property(numbers, fc.nat(50), fc.nat(50), (given, one, other) => {
        const values = given.flat()
        const bytes = (some: readonly bigint[]) => Uint8Array.from(some.flatMap((value) => [Number(value & 255n), 7]))
        const parts = <Part extends Numbers>(of: (some: readonly bigint[]) => Part) => {
          const [first, ...others] = given.map(of)
          return new ColumnParts([first as Part, ...others])
        }
        const types = { a: 'UInt64', b: 'FixedString(2)', c: 'Int32' }
        const narrow = (some: readonly bigint[]) => Uint16Array.from(some, (value) => Number(value & 65_535n))
        const [a, b] = [(some: readonly bigint[]) => BigUint64Array.from(some), bytes]
        const whole = { a: a(values), b: b(values), c: narrow(values) }
        const column = { a: parts(a), b: parts(b), c: parts(narrow) }
        expect(blockRows(column, types)).toBe(values.length)
        expect(hex(column, types)).toBe(hex(whole, types))
        const range = { from: Math.min(one, other, values.length), to: Math.min(Math.max(one, other), values.length) }
        expect(hex(sliceColumns(column, types, range), types)).toBe(hex(sliceColumns(whole, types, range), types))
      }),
    )
  })

  test('names the column that does not fit the table or the others', () => {
    expect(() => hex({ a: Uint8Array.of(1) }, {})).toThrow('The table has no column a.')
    expect(() => hex({ a: ['1'] }, { a: 'UInt8' })).toThrow('Column a is UInt8, its values are text.')
    expect(() => hex({ a: Uint8Array.of(1) }, { a: 'String' })).toThrow('Column a: values for String')
    expect(() => hex({ a: Uint8Array.of(1), b: [] }, { a: 'UInt8', b: 'String' })).toThrow('Column b has 0 values')
  })

  test('is cut into ranges of rows', () => {
    const types = { n: 'UInt32', f: 'FixedString(2)', s: 'String', c: 'LowCardinality(String)' }
    const columns = {
      n: Uint32Array.of(1, 2, 3),
      f: Uint8Array.of(1, 1, 2, 2, 3, 3),
      s: ['a', 'b', 'c'],
      c: new CodedTexts(['x', 'y'], Uint8Array.of(1, 0, 1)),
    }
    const slice = sliceColumns(columns, types, { from: 1, to: 3 })
    expect(blockRows(slice, types)).toBe(2)
    expect(slice).toMatchObject({ n: Uint32Array.of(2, 3), f: Uint8Array.of(2, 2, 3, 3), s: ['b', 'c'] })
    expect([...(slice.c as CodedTexts)]).toEqual(['x', 'y'])
  })
})
