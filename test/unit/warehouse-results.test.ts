import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, parseRows, toWords } from '../../infra/warehouse/results.ts'

const linesOf = (rows: readonly unknown[]): Buffer =>
  Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))

test('rows are read as they were written, whatever their texts have', () => {
  const row = fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(fc.string({ unit: 'binary' }), fc.integer()))
  fc.assert(
    fc.property(fc.array(row), (rows) => {
      // Of both: a name of a prototype is a member like others.
      expect(parseRows(linesOf(rows))).toEqual(JSON.parse(JSON.stringify(rows)))
    }),
  )
})

test.each([
  ['rows of many texts', Array.from({ length: 60_000 }, (_, i) => ({ i, text: `a line\nand ${'é'.repeat(i % 40)}` }))],
  ['rows that are longer than a text', Array.from({ length: 3 }, (_, i) => ({ i, text: 'é'.repeat(1_500_000) }))],
])('%s are all read', (_what, rows) => {
  const bytes = linesOf(rows)
  expect(bytes.length).toBeGreaterThan(2 * 1_048_576)
  expect(parseRows(bytes)).toEqual(rows)
})

test('no rows are none', () => {
  expect(parseRows(Buffer.alloc(0))).toEqual([])
})

test('a stream is read to its end, in whatever pieces it comes', async () => {
  const pieces = ['a', 'bc', 'def'].map((text) => Buffer.from(text))
  expect((await bytesOf(Readable.from(pieces, { objectMode: false }))).toString()).toBe('abcdef')
  expect(await bytesOf(Readable.from([], { objectMode: false }))).toHaveLength(0)
})

test('a stream that fails, or ends early, is no result', async () => {
  const failed = new Readable({ read() {} })
  const ended = new Readable({ read() {} })
  for (const stream of [failed, ended]) stream.push(Buffer.from('half'))
  const results = [bytesOf(failed), bytesOf(ended)]
  failed.destroy(new Error('the connection is lost'))
  ended.destroy()
  await expect(results[0]).rejects.toThrow('the connection is lost')
  await expect(results[1]).rejects.toThrow('ended early')
})

test('words are whole', () => {
  expect([...toWords(Buffer.from([1, 0, 0, 0, 2, 0, 0, 0]))]).toEqual([1, 2])
  expect(() => toWords(Buffer.alloc(5))).toThrow('no whole words')
})
