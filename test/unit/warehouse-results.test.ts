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

test('so is one that has ended before, and one whose signal aborts', async () => {
  const closed = new Readable({ read() {} })
  closed.destroy()
  await new Promise((resolve) => closed.on('close', resolve))
  await expect(bytesOf(closed)).rejects.toThrow('ended early')
  const gone = new AbortController()
  const open = () => new Readable({ read() {} })
  const reading = bytesOf(open(), gone.signal)
  gone.abort()
  await expect(reading).rejects.toThrow('ended early')
  await expect(bytesOf(open(), gone.signal)).rejects.toThrow('ended early')
})

test('words are whole, and lie where longer ones may be read, wherever their bytes came from', () => {
  for (const offset of [0, 1, 4, 8]) {
    const bytes = Buffer.from(new ArrayBuffer(48), offset, 40)
    for (let at = 0; at < 40; at += 4) bytes.writeUInt32LE(at, at)
    const words = toWords(bytes)
    expect([...words]).toEqual([0, 4, 8, 12, 16, 20, 24, 28, 32, 36])
    expect(new BigInt64Array(words.buffer, words.byteOffset, words.length / 2)[0]).toBe(4n << 32n)
  }
  // Those of a small answer do not keep what it shared its memory with.
  expect(toWords(Buffer.from(new ArrayBuffer(65_536), 0, 8)).buffer.byteLength).toBe(8)
  expect(() => toWords(Buffer.alloc(5))).toThrow('no whole words')
})
