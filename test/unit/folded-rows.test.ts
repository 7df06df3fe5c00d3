import { expect, test } from 'vitest'
import type { InsertColumns, Warehouse } from '../../infra/ports/warehouse.ts'
import { FoldedRows } from '../../processors/nft/folded-rows.ts'

const FOLD = { chain: 'mainnet', start: 1 }
const ROWS_MAX = 3

/** A table's rows are read when an insert ends, not when it begins: what is under way keeps its memory. */
function slowTables() {
  const written = new Map<string, number[][]>()
  const running: { readonly table: string; readonly columns: InsertColumns; readonly end: (error?: Error) => void }[] =
    []
  const insert: Warehouse['insert'] = (table, columns) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const one = {
      table,
      columns,
      end: (error?: Error) => {
        running.splice(running.indexOf(one), 1)
        if (error !== undefined) return reject(error)
        written.set(table, [...(written.get(table) ?? []), Array.from(columns.block_number as BigUint64Array, Number)])
        resolve()
      },
    }
    running.push(one)
    return promise
  }
  return { insert, written, running, of: (table: string) => running.filter((one) => one.table === table) }
}

type Form = 'transfers' | 'holdings' | 'totals'

/** A row of the block with such a number. */
function push(rows: FoldedRows, form: Form, number: number): void {
  rows.begin({ number, timeSec: number }, new Uint32Array(8).fill(number), 0)
  for (const column of Object.values(rows[form].next())) {
    if ('pushNumber' in column) column.pushNumber(number)
    else if ('push' in column) column.push(0)
  }
}

const turns = () => new Promise((resolve) => setImmediate(resolve))

test('a table is written when it has many rows, whatever others have, and what is under way is not written over', async () => {
  const tables = slowTables()
  const rows = new FoldedRows(tables, ROWS_MAX)
  for (let number = 1; number <= 8; number++) {
    push(rows, 'totals', number)
    if (number % 4 === 0) push(rows, 'holdings', number)
    const wrote = rows.writeIfMany(FOLD)
    // The third time the first one's memory is needed.
    if (number === 6) {
      await turns()
      expect(tables.running.map(({ table }) => table)).toEqual(['nft_totals'])
      tables.of('nft_totals')[0]?.end()
    }
    await wrote
  }
  expect(tables.written).toEqual(new Map([['nft_totals', [[1, 2, 3]]]]))
  const ended = rows.end(FOLD)
  while (tables.running.length > 0) {
    tables.running[0]?.end()
    await turns()
  }
  await ended
  const ofHoldings = ['nft_changes', 'nft_token_holders', 'nft_holder_tokens'].map((table) => [table, [[4, 8]]])
  expect(Object.fromEntries(tables.written)).toEqual({
    nft_totals: [
      [1, 2, 3],
      [4, 5, 6],
      [7, 8],
    ],
    ...Object.fromEntries(ofHoldings),
  })
})

test('who ends is told that a write has failed, when none is under way any more', async () => {
  const tables = slowTables()
  const rows = new FoldedRows(tables, ROWS_MAX)
  for (const form of ['totals', 'transfers'] as const) for (let i = 1; i <= ROWS_MAX; i++) push(rows, form, i)
  await rows.writeIfMany(FOLD)
  expect(tables.running.map(({ table }) => table).toSorted()).toEqual(['nft_totals', 'nft_transfer_lists'])
  let told: unknown
  const ended = rows.end(FOLD).catch((error: unknown) => {
    told = error
  })
  tables.of('nft_totals')[0]?.end(new Error('no space'))
  await turns()
  expect(told).toBeUndefined()
  tables.of('nft_transfer_lists')[0]?.end()
  await ended
  expect(told).toEqual(new Error('no space'))
  expect(tables.running).toEqual([])
})
