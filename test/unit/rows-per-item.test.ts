import { expect, test } from 'vitest'
import { RowsPerItem } from '../../api/nft/rows-per-item.ts'

test('knows nothing of a list before a page of it was looked for', () => {
  expect(new RowsPerItem().of('owners')).toBeUndefined()
})

test('is what the last page has shown, and of one that had more items than were wanted not much less than before', () => {
  const rows = new RowsPerItem()
  rows.note('owners', { rows: 1_000, items: 10, isCut: false })
  expect(rows.of('owners')).toBe(100)
  rows.note('owners', { rows: 2_000, items: 100, isCut: true })
  expect(rows.of('owners')).toBe(90)
  rows.note('owners', { rows: 1_000, items: 100, isCut: true })
  expect(rows.of('owners')).toBe(80)
  rows.note('owners', { rows: 8_100, items: 100, isCut: true })
  expect(rows.of('owners')).toBe(80)
  rows.note('owners', { rows: 8_000, items: 0, isCut: false })
  expect(rows.of('owners')).toBe(8_000)
})

test('forgets the list that was asked for longest ago', () => {
  const rows = new RowsPerItem()
  for (let list = 0; list <= 10_000; list++) rows.note(`${list}`, { rows: 1, items: 1, isCut: false })
  expect([rows.of('0'), rows.of('1')]).toEqual([undefined, 1])
})
