import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { NftScope } from '../../api/nft/asking.ts'
import {
  AMOUNT,
  addressKey,
  type HistoryColumns,
  type HistoryRows,
  type Item,
  newestItems,
  SINCE,
  STANDARD_KEY,
  TOKEN_KEY,
} from '../../api/nft/history-rows.ts'
import { type TextRow, textColumns, textRows } from '../../api/nft/text-rows.ts'
import { wordColumns, wordRows } from '../../api/nft/word-rows.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const stores = storesOfFile()
const COLUMNS: HistoryColumns = {
  keys: [addressKey('contract'), TOKEN_KEY, STANDARD_KEY],
  amounts: AMOUNT,
  values: SINCE,
  holds: ({ amount, excess }) => amount !== '0' || excess !== '0',
}
const ORDER = 'contract, token_id, standard, block_number'
const SNAPSHOT = 5
const MAX = 2n ** 256n - 1n
const byteText = (byte: number, width: number): string => `0x${byte.toString(16).padStart(2, '0').repeat(width)}`

const change = fc.record({
  contract: fc.constantFrom(0, 0x0a, 0xff),
  token: fc.constantFrom(0, 0x0d, 0xfe),
  standard: fc.constantFrom('ERC721', 'ERC1155'),
  block: fc.integer({ min: 1, max: 7 }),
  isReverted: fc.boolean(),
  amount: fc.constantFrom(0n, 1n, 2n ** 53n + 1n, 2n ** 64n, 2n ** 255n + 7n, MAX),
  excess: fc.constantFrom(0n, 1n, -1n, 2n ** 40n, -(2n ** 63n)),
  sinceBlock: fc.constantFrom(0n, 5n, 2n ** 53n - 1n, 2n ** 63n + 1n),
  sinceSec: fc.constantFrom(0, 1_700_000_000, 2 ** 32 - 1),
})
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never
const keyText = ({ contract, token, standard }: Change): string =>
  [byteText(contract, 20), byteText(token, 32), standard].join()
const hashByte = ({ block, isReverted }: Change): number => (isReverted ? 0x80 : 0) + block

/** What there must be: of each key its last change up to the snapshot that was not reverted, where something is held after it. */
function expected(changes: readonly Change[]): readonly Item[] {
  const newest = new Map<string, Change>()
  for (const one of changes.toSorted((a, b) => a.block - b.block))
    if (one.block <= SNAPSHOT && !one.isReverted) newest.set(keyText(one), one)
  return [...newest]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, one]) => ({
      contract_text: byteText(one.contract, 20),
      token_id_text: byteText(one.token, 32),
      standard_text: one.standard,
      block_number: String(one.block),
      amount: String(one.amount),
      excess: String(one.excess),
      since_block: String(one.sinceBlock),
      since_sec: String(one.sinceSec),
    }))
    .filter(({ amount, excess }) => amount !== '0' || excess !== '0')
}

let starts = 0
const scope = {
  snapshot: { number: SNAPSHOT },
  standing: { isReverted: (hash: string) => hash >= '80' },
} as unknown as NftScope

async function insert(changes: readonly Change[]): Promise<string> {
  const start = ++starts
  const repeated = (byteOf: (one: Change) => number, width: number) =>
    Buffer.concat(changes.map((one) => Buffer.alloc(width, byteOf(one))))
  const longs = (longOf: (one: Change) => bigint) => BigUint64Array.from(changes, longOf)
  await stores().warehouse.insert('nft_holder_tokens', {
    chain: changes.map(() => 'eth'),
    start: longs(() => BigInt(start)),
    holder: repeated(() => 1, 20),
    contract: repeated(({ contract }) => contract, 20),
    token_id: repeated(({ token }) => token, 32),
    standard: changes.map(({ standard }) => standard),
    block_number: longs(({ block }) => BigInt(block)),
    block_hash: repeated(hashByte, 32),
    amount: changes.map(({ amount }) => amount),
    excess: BigInt64Array.from(changes, ({ excess }) => excess),
    since_block: longs(({ sinceBlock }) => sinceBlock),
    since_time: Uint32Array.from(changes, ({ sinceSec }) => sinceSec),
  })
  return `FROM nft_holder_tokens WHERE chain = 'eth' AND start = ${start} ORDER BY ${ORDER}`
}

beforeAll(() => stores().empty())

test('rows as text and rows as words both tell what each key has as of a block', async () => {
  const { warehouse } = stores()
  const distinct = { selector: (one: Change) => [keyText(one), one.block, one.isReverted].join(), minLength: 1 }
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(change, { ...distinct, maxLength: 40 }), async (changes) => {
      const from = await insert(changes)
      const text = await warehouse.query<TextRow>(
        `SELECT ${textColumns(COLUMNS)}, block_number, hex(block_hash) AS of_block ${from}`,
      )
      const words = await warehouse.queryWords(`SELECT ${wordColumns(COLUMNS)} ${from}`)
      const items = expected(changes)
      const without = ({ of_block: _, ...item }: Item) => item
      for (const rows of [textRows(COLUMNS, text), wordRows(COLUMNS, words)]) {
        const all = newestItems(rows, scope, { limit: 1_000, isCut: false })
        expect(all.items.map(without)).toEqual(items)
        expect(all).toMatchObject({ rows: changes.length, open: undefined })
        checkCut(rows, items.map(keyOfItem))
      }
    }),
    { numRuns: 40 },
  )
})

const keyOfItem = (item: Item): string => [item.contract_text, item.token_id_text, item.standard_text].join()

/** Where there may be more rows the last key is left open, and whoever wants one item gets the first. */
function checkCut(rows: HistoryRows, keys: readonly string[]): void {
  const cut = newestItems(rows, scope, { limit: 1_000, isCut: true })
  const last = rows.keyOf(rows.count - 1).join()
  expect(cut.open?.join()).toBe(last)
  expect(cut.items.map(keyOfItem)).toEqual(keys.filter((key) => key !== last))
  const one = newestItems(rows, scope, { limit: 1, isCut: false })
  expect(one.items.map(keyOfItem)).toEqual(keys.slice(0, 1))
}
