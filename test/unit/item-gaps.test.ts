import { expect, test } from 'vitest'
import { ItemGaps } from '../../api/nft/item-gaps.ts'

const key = (begin: string): string => `0x${begin.padEnd(40, '0')}`
/** What a double holds of a key. */
const place = (text: string | undefined): number => Number.parseInt((text ?? '').slice(2, 14), 16)

test('knows nothing of a list before a page of it was looked for', () => {
  expect(new ItemGaps().endOf('tokens', { behind: key('10'), items: 10 })).toBeUndefined()
})

test('ends half as far again as items have lain apart, with all keys that begin alike', () => {
  const gaps = new ItemGaps()
  gaps.note('tokens', { behind: key('10'), last: key('20'), items: 16 })
  // 16 of 256 a gap is one, and of ten half as many more.
  expect(gaps.endOf('tokens', { behind: key('20'), items: 10 })).toBe(`0x2f0000000000${'f'.repeat(28)}`)
  expect(gaps.endOf('owners', { behind: key('20'), items: 10 })).toBeUndefined()
})

test('ends with the last key there can be', () => {
  const gaps = new ItemGaps()
  gaps.note('tokens', { behind: key('10'), last: key('20'), items: 1 })
  expect(gaps.endOf('tokens', { behind: key('f0'), items: 100 })).toBe(`0x${'f'.repeat(40)}`)
})

test('is of the widest gaps, which narrower ones make less little by little', () => {
  const gaps = new ItemGaps()
  const endOf = () => place(gaps.endOf('tokens', { behind: key(''), items: 1 })) / 2 ** 40 / 1.5
  gaps.note('tokens', { behind: key(''), last: key('10'), items: 1 })
  expect(endOf()).toBe(16)
  gaps.note('tokens', { behind: key(''), last: key('08'), items: 1 })
  expect(endOf()).toBe(15)
  gaps.note('tokens', { behind: key(''), last: key('40'), items: 1 })
  expect(endOf()).toBe(64)
})

test('of items that have one key begin is where that one is', () => {
  const gaps = new ItemGaps()
  gaps.note('tokens', { behind: key('ab'), last: key('ab'), items: 100 })
  expect(gaps.endOf('tokens', { behind: key('ab'), items: 100 })).toBe(`0xab0000000000${'f'.repeat(28)}`)
})
