import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GrowingRows } from '../../processors/nft/growing-rows.ts'

const newRows = () => new GrowingRows({ standard: ['ERC721', 'ERC1155'] })

test('takes texts by their places, however many rows there are', () => {
  const rows = newRows()
  const codes = Array.from({ length: 1_000 }, (_, row) => row % 2)
  for (const code of codes) rows.next().standard.push(code)
  const { standard } = rows.take({ chain: 'eth', start: 1 })
  expect([...(standard as Iterable<string>)]).toEqual(codes.map((code) => (code === 0 ? 'ERC721' : 'ERC1155')))
})

test.each([2, -1, 255])('refuses the place %i, where two texts have none', (code) => {
  const { standard } = newRows().next()
  expect(() => standard.push(code)).toThrow(new RangeError(`a column of 2 texts has no text ${code}`))
})

const FOLD = { chain: 'eth', start: 1 }
const anyNumber = fc.oneof(fc.nat(3), fc.integer({ min: 2 ** 32 - 2, max: 2 ** 32 + 2 }), fc.maxSafeNat())
const anyWords = fc.uint32Array({ minLength: 8, maxLength: 8 })
const anyRow = fc.record({ wide: anyWords, number: anyNumber, above: fc.nat(1), word: fc.nat() }, { requiredKeys: [] })
/** Rows of a block; whether those so far are taken amid them. */
const anyBlock = fc.record({ number: anyNumber, hash: anyWords, rows: fc.array(anyRow), isTaken: fc.boolean() })

const bytesOfWords = (words: Uint32Array) => [...new Uint8Array(words.buffer, words.byteOffset, words.byteLength)]

test('rows have what was pushed into them, 0 where nothing was, and what all of their block have', () => {
  fc.assert(
    fc.property(fc.array(anyBlock), (blocks) => {
      const rows = new GrowingRows({
        ...{ block: { run: 2 }, hash: { run: 8 }, second: { run: 1 } },
        ...{ wide: 8, number: 2, above: 'signed', word: 1 },
      })
      const expected: Record<string, unknown>[] = []
      const found: Record<string, unknown>[] = []
      const take = () => {
        const { length } = expected.slice(found.length)
        expect(rows.rows).toBe(length)
        const { block, hash, second, wide, number, above, word } = rows.take(FOLD) as Record<string, Uint8Array>
        for (let row = 0; row < length; row++)
          found.push({
            ...{ block: block?.[row], hash: [...(hash ?? []).slice(row * 32, row * 32 + 32)], second: second?.[row] },
            ...{ wide: [...(wide ?? []).slice(row * 32, row * 32 + 32)], number: number?.[row], above: above?.[row] },
            word: word?.[row],
          })
        expect([block?.length, hash?.length, wide?.length, word?.length]).toEqual([
          length,
          length * 32,
          length * 32,
          length,
        ])
      }
      for (const block of blocks) {
        rows.columns.block.setNumber(block.number)
        rows.columns.hash.set(block.hash, 0)
        rows.columns.second.setNumber(block.number % 2 ** 32)
        for (const [i, row] of block.rows.entries()) {
          if (block.isTaken && i === block.rows.length >> 1) take()
          const columns = rows.next()
          if (row.wide !== undefined) columns.wide.push(row.wide, 0)
          if (row.number !== undefined) columns.number.pushNumber(row.number)
          if (row.above !== undefined) columns.above.push(new Uint32Array(2).fill(row.above * 0xffff_ffff), 0)
          if (row.word !== undefined) columns.word.pushNumber(row.word)
          expected.push({
            ...{ block: BigInt(block.number), hash: bytesOfWords(block.hash), second: block.number % 2 ** 32 },
            ...{ wide: bytesOfWords(row.wide ?? new Uint32Array(8)), number: BigInt(row.number ?? 0) },
            ...{ above: BigInt(-(row.above ?? 0)), word: row.word ?? 0 },
          })
        }
      }
      take()
      expect(found).toEqual(expected)
    }),
  )
})

test('a number in many words has none of what was there before', () => {
  const rows = new GrowingRows({ wide: 8 })
  for (const push of [2 ** 40 + 5, undefined, 7]) {
    rows.next().wide.push(new Uint32Array(8).fill(0xffff_ffff), 0)
    rows.take(FOLD)
    rows.next()
    rows.take(FOLD)
    const { wide } = rows.next()
    if (push !== undefined) wide.pushNumber(push)
    const words = new Uint32Array(8)
    words.set([(push ?? 0) >>> 0, Math.floor((push ?? 0) / 2 ** 32)])
    expect([...(rows.take(FOLD).wide as Uint8Array)]).toEqual(bytesOfWords(words))
  }
})
