import { constants, readFileSync } from 'node:fs'
import { openWarehouse } from '../../infra/warehouse/open.ts'

// Tells whether its standard input waits for something to come once the engine is open, and how many rows it has inserted side by side.

const [, , directory = ''] = process.argv
await using warehouse = await openWarehouse({ directory })
const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/0', 'utf8'))?.[1] ?? ''
const waits = (Number.parseInt(flags, 8) & constants.O_NONBLOCK) === 0
await warehouse.command('CREATE TABLE input_rows (a UInt32) ENGINE = MergeTree ORDER BY a')
await Promise.all([1, 2, 3, 4, 5, 6].map((a) => warehouse.insert('input_rows', { a: Uint32Array.of(a) })))
const [counted] = await warehouse.query<{ rows: string }>('SELECT count() AS rows FROM input_rows')
process.stdout.write(JSON.stringify({ waits, rows: counted?.rows }))
