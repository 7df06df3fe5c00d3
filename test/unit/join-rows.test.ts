import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { giveBackRows, joinRows, noRows, type TableRows, textColumn } from '../../processors/loop/rows.ts'
import { CODED_TEXTS_MAX, CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { ColumnParts } from '../../schemas/tables/column-parts.ts'

const rows = (x: TableRows['columns'][string]): TableRows => ({ table: 'nft_transfers', columns: { x } })
const joined = (parts: readonly TableRows[]) => joinRows(parts)[0]?.columns.x

describe('rows of one table', () => {
  test('are joined, whichever texts each part has', () => {
    const part = fc.array(fc.nat(9), { minLength: 1 }).chain((codes) =>
      fc.record({
        codes: fc.constant(codes),
        texts: fc.uniqueArray(fc.string(), { minLength: 10, maxLength: 10 }),
      }),
    )
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 5 }), (parts) => {
        const columns = parts.map(({ texts, codes }) => new CodedTexts(texts, Uint8Array.from(codes)))
        const one = joined(columns.map(rows))
        expect(one).toBeInstanceOf(CodedTexts)
        expect([...(one as CodedTexts)]).toEqual(columns.flatMap((column) => [...column]))
      }),
    )
  })

  test('are joined as texts where they have more of them than codes, or some have none', () => {
    const texts = Array.from({ length: CODED_TEXTS_MAX + 1 }, (_, i) => `text ${i}`)
    const all = texts.map((text) => rows(textColumn(1, text)))
    expect(joined(all)).toEqual(texts)
    expect(joined([rows(textColumn(2, 'a')), rows(['b'])])).toEqual(['a', 'a', 'b'])
  })

  test('are joined as bytes where parts are buffers: to make one of these by its constructor is deprecated, and Node warns of it', () => {
    const bytes = joined([rows(Buffer.from([1, 2])), rows(Uint8Array.of(3))])
    expect(bytes).toEqual(Uint8Array.of(1, 2, 3))
    expect(joined([rows(Uint16Array.of(1)), rows(Uint16Array.of(2))])).toEqual(Uint16Array.of(1, 2))
  })

  test('stay the parts that they are where these are large', () => {
    const count = 20_000
    const [one, other] = [new Uint32Array(count).fill(1), new Uint32Array(count).fill(2)]
    const column = joined([rows(one), rows(other)])
    expect(column).toBeInstanceOf(ColumnParts)
    expect((column as ColumnParts).parts).toEqual([one, other])
    expect((column as ColumnParts).parts[1]?.buffer).toBe(other.buffer)
  })

  test('give their memory back where they were copied, and where they were written; what stands in the joined rows stays', () => {
    const count = 10_000
    const numbers = () => ({ x: new Uint8Array(count), y: new CodedTexts(['a'], new Uint8Array(count)) })
    const [one, other, alone] = [numbers(), numbers(), numbers()]
    const parts = [one, other].map((columns): TableRows => ({ table: 'nft_transfers', columns }))
    const all: readonly TableRows[] = [...parts, { table: 'deposits', columns: alone }]
    const lengths = () => [one, other, alone].flatMap(({ x, y }) => [x.length, y.length])
    const rows = joinRows(all)
    const joinedLengths = () => rows.map(({ columns }) => Object.values(columns).map(({ length }) => length))
    giveBackRows(all, rows)
    expect(lengths()).toEqual([0, 0, 0, 0, count, count])
    expect(joinedLengths()).toEqual([
      [2 * count, 2 * count],
      [count, count],
    ])
    giveBackRows(rows)
    expect(joinedLengths()).toEqual([
      [0, 0],
      [0, 0],
    ])
  })

  test('keep the memory of their parts until they were written', () => {
    const parts = [1, 2].map((value) => rows(new BigUint64Array(20_000).fill(BigInt(value))))
    const lengths = () => parts.map(({ columns }) => (columns.x as BigUint64Array).length)
    const all = joinRows(parts)
    giveBackRows(parts, all)
    expect(lengths()).toEqual([20_000, 20_000])
    giveBackRows(all)
    expect(lengths()).toEqual([0, 0])
  })

  test('are left out where there are none', () => {
    const some = rows(textColumn(1, 'a'))
    expect(joinRows([noRows('deposits'), some, noRows('nft_transfers')])).toEqual([some])
  })
})
