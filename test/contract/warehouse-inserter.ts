import { openWarehouse } from '../../infra/warehouse/open.ts'

/** Inserts batches of 100 rows into the directory's table `inserted` until it is killed; prints the rows acknowledged. */

const BATCH_ROWS = 100

const warehouse = await openWarehouse({ directory: process.argv[2] ?? '' })
await warehouse.command('CREATE TABLE IF NOT EXISTS inserted (a UInt32) ENGINE = ReplacingMergeTree ORDER BY a')
for (let batch = 0; ; batch++) {
  const from = batch * BATCH_ROWS
  await warehouse.insert('inserted', { a: Uint32Array.from({ length: BATCH_ROWS }, (_, row) => from + row) })
  console.log(from + BATCH_ROWS)
}
