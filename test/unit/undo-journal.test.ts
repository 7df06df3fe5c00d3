import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Balance } from '../../processors/nft/balance.ts'
import { Balances, FigureRows, Figures } from '../../processors/nft/figures.ts'
import { UndoJournal } from '../../processors/nft/undo-journal.ts'
import { tries } from '../long-form.ts'

const KEYS = 5
const NO_LIMIT = { blocks: 100, bytes: 2 ** 20 }

const anyBalance: fc.Arbitrary<Balance> = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(2n ** 256n, -(2n ** 255n), 2n ** 64n),
)
const anyChange = fc.record({ key: fc.nat(KEYS - 1), figure: fc.nat(2 ** 40), balance: anyBalance })
/** A block changes figures; a reorg takes the newest blocks away. */
const anyTurn = fc.oneof(
  { weight: 3, arbitrary: fc.array(anyChange, { maxLength: 8 }) },
  { weight: 1, arbitrary: fc.nat(6) },
)

function openBook(limits = NO_LIMIT) {
  const journal = new UndoJournal()
  journal.limits = limits
  const rows = new FigureRows(2)
  const [figures, balances] = [new Figures(rows, journal), new Balances(rows, journal)]
  const keys = Array.from({ length: KEYS }, (_, key) => key)
  return {
    journal,
    change({ key, figure, balance }: { key: number; figure: number; balance: Balance }) {
      figures.set(key, figure)
      balances.set(key, balance)
    },
    content: () => keys.map((key) => [figures.get(key), balances.get(key)]),
  }
}

test('blocks are taken back to what figures were, as long as the journal knows', () => {
  fc.assert(
    fc.property(fc.array(anyTurn, { maxLength: 30 }), fc.nat(6), fc.nat(600), (turns, blocks, bytes) => {
      const book = openBook({ blocks, bytes })
      /** By the number of the block, the last one's at the end. */
      const told = [book.content()]
      for (const turn of turns) {
        if (typeof turn === 'number') {
          const to = Math.max(0, told.length - 1 - turn)
          const before = book.content()
          if (book.journal.undoTo(to)) told.length = to + 1
          else expect(book.content()).toEqual(before)
        } else {
          book.journal.begin(told.length, told.length)
          for (const change of turn) book.change(change)
          book.journal.end()
          told.push(book.content())
        }
        expect(book.content()).toEqual(told.at(-1))
      }
    }),
    { numRuns: tries(300, 10_000) },
  )
})

const change = { key: 1, figure: 7, balance: 2n ** 256n }

function afterBlocks(count: number, limits: { readonly blocks: number; readonly bytes: number }, last = count) {
  const book = openBook(limits)
  for (let number = 1; number <= count; number++) {
    book.journal.begin(number, last)
    book.change({ ...change, figure: number })
    book.journal.end()
  }
  return book
}

test.each([
  { limit: 'as many blocks as it may', limits: { blocks: 3, bytes: 2 ** 20 }, reach: 7 },
  // A change of a figure takes 16 bytes, one of a large balance 80, the first one of a balance 16.
  { limit: 'as many bytes as it may', limits: { blocks: 100, bytes: 3 * 96 }, reach: 7 },
  { limit: 'no block that has more than that', limits: { blocks: 100, bytes: 95 }, reach: 10 },
])('the journal keeps $limit', ({ limits, reach }) => {
  expect(afterBlocks(10, limits).journal.undoTo(reach - 1)).toBe(false)
  const book = afterBlocks(10, limits)
  expect(book.journal.undoTo(reach)).toBe(true)
  expect(book.content()[change.key]).toEqual([reach, change.balance])
})

test('of a long step only the blocks before its end are noted', () => {
  const book = afterBlocks(10, { blocks: 3, bytes: 2 ** 20 }, 12)
  expect(book.journal.undoTo(8)).toBe(false)
  expect(book.journal.undoTo(9)).toBe(true)
})

test('what is looked up meanwhile, of keys that no block has changed, stays when blocks are taken back', () => {
  const book = openBook()
  book.journal.begin(1, 1)
  book.change(change)
  book.journal.end()
  book.change({ key: 2, figure: 5, balance: 3 })
  expect(book.journal.undoTo(0)).toBe(true)
  expect(book.content()).toEqual([
    [0, 0],
    [0, 0],
    [5, 3],
    [0, 0],
    [0, 0],
  ])
})
