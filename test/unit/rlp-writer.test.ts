import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hexOf } from '../../schemas/eth/hex.ts'
import { encodeRlp, type RlpItem, rlpInteger } from '../../schemas/eth/rlp.ts'
import { RlpWriter } from '../../schemas/eth/rlp-writer.ts'
import { tries } from '../long-form.ts'

/** Writes an item as the writer has it: lists from their ends. */
function write(writer: RlpWriter, item: RlpItem): void {
  if (item instanceof Uint8Array) {
    writer.hex(hexOf(item))
    return
  }
  const end = writer.mark
  for (const one of item.toReversed()) write(writer, one)
  writer.closeList(end)
}

const bytes = fc.uint8Array({ maxLength: 70 })
const { item: anyItem } = fc.letrec<{ item: RlpItem }>((tie) => ({
  item: fc.oneof({ depthSize: 'small' }, bytes, fc.array(tie('item'), { maxLength: 9 })),
}))

describe('RLP that is written from its end', () => {
  it('is that which is written from its beginning', () => {
    const writer = new RlpWriter()
    fc.assert(
      fc.property(fc.array(anyItem, { minLength: 1, maxLength: 4 }), (items) => {
        writer.reset()
        const written = items.map((item) => {
          const mark = writer.mark
          write(writer, item)
          return writer.take(mark)
        })
        // What was written before stays as it was.
        expect(written.map(hexOf)).toEqual(items.map((item) => hexOf(encodeRlp(item))))
      }),
      { numRuns: tries(300, 10_000) },
    )
  })

  it('has integers without leading zeros, and of nothing zero', () => {
    const writer = new RlpWriter()
    for (const text of ['0x0', '0x00', '0x', '0x7f', '0x80', '0x0080', '0xfff', '0x1ffff', `0x${'f'.repeat(64)}`]) {
      writer.reset()
      writer.quantity(text)
      expect(hexOf(writer.take(0)), text).toBe(hexOf(encodeRlp(rlpInteger(BigInt(text === '0x' ? 0 : text)))))
    }
    writer.reset()
    writer.quantity(undefined)
    expect(hexOf(writer.take(0))).toBe('0x80')
  })

  it('grows beyond what it began with, and lengths with it', () => {
    const writer = new RlpWriter()
    const large = new Uint8Array(300_000).fill(7)
    const end = writer.mark
    writer.bytes(large)
    writer.hex(hexOf(large.subarray(0, 60)))
    writer.closeList(end)
    expect(hexOf(writer.take(0))).toBe(hexOf(encodeRlp([large.subarray(0, 60), large])))
  })
})
