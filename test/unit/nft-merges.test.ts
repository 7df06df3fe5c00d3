import { expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { FILLING_BLOCKS_MIN, mergeFolded, mergeSmall } from '../../processors/nft/merges.ts'
import { FOLDED_TABLES } from '../../schemas/tables/nft.ts'
import { ART, type Block, blockOn, eventsOf, NOBODY, tell } from './given-nft-chain.ts'
import { dumpTables } from './projecting.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const never = new AbortController().signal
const stores = storesOfFile()

/** So many blocks on another one, each of which mints a token. */
function mintedOn(parent: Block | undefined, count: number): readonly Block[] {
  const blocks: Block[] = []
  for (let block = parent; blocks.length < count; blocks.push(block)) {
    const id = BigInt((block?.number ?? 0) + 1)
    block = blockOn(block, [{ contract: ART, from: NOBODY, to: `0x${'a1'.repeat(20)}`, id, amount: 1n }])
  }
  return blocks
}

async function fold(warehouse: Warehouse, blocks: readonly Block[]): Promise<void> {
  await tell(
    warehouse,
    blocks.flatMap((block) => eventsOf(block, CHAIN)),
    { chain: CHAIN },
  )
  expect(await foldChain(warehouse, CHAIN, never)).toBe(blocks.length)
}

/** Tables whose merges are put off. */
async function late(warehouse: Warehouse): Promise<readonly string[]> {
  const rows = await warehouse.query<{ name: string }>(
    `SELECT name FROM system.tables
     WHERE database = currentDatabase() AND engine_full LIKE '%min_parts_to_merge_at_once = 100%' ORDER BY name`,
  )
  return rows.map(({ name }) => name)
}

async function partsOf(warehouse: Warehouse, table: string): Promise<number> {
  const [row] = await warehouse.query<{ count: string }>(
    'SELECT count() AS count FROM system.parts WHERE active AND database = currentDatabase() AND table = {table:String}',
    { table },
  )
  return Number(row?.count)
}

test('merges of folded tables are put off while months are folded, not by blocks of a head', async () => {
  const { warehouse, empty } = stores()
  await empty()
  const months = mintedOn(undefined, FILLING_BLOCKS_MIN)
  await fold(warehouse, months)
  expect(await late(warehouse)).toEqual([...FOLDED_TABLES].sort())
  await mergeFolded(warehouse, AbortSignal.abort())
  expect(await late(warehouse)).toHaveLength(FOLDED_TABLES.length)
  await mergeFolded(warehouse, never)
  expect(await late(warehouse)).toEqual([])
  const head = mintedOn(months.at(-1), 3)
  await fold(warehouse, head)
  expect(await late(warehouse)).toEqual([])
  await fold(warehouse, mintedOn(head.at(-1), FILLING_BLOCKS_MIN))
  expect(await late(warehouse)).toHaveLength(FOLDED_TABLES.length)
})

/** Folds blocks of a head while the engine merges nothing, so that each table has as many parts. */
async function foldInParts(warehouse: Warehouse, parts: number): Promise<void> {
  await warehouse.command('SYSTEM STOP MERGES nft_holder_tokens')
  let parent: Block | undefined
  for (let part = 0; part < parts; part++) {
    const blocks = mintedOn(parent, 2)
    await fold(warehouse, blocks)
    parent = blocks.at(-1)
  }
  await warehouse.command('SYSTEM START MERGES nft_holder_tokens')
}

test.each([2, 6])(
  'once they are folded, a partition of %i parts becomes one, and nothing else changes',
  async (parts) => {
    const { warehouse, empty } = stores()
    await empty()
    await foldInParts(warehouse, parts)
    const before = await dumpTables(warehouse)
    expect(await partsOf(warehouse, 'nft_holder_tokens')).toBeGreaterThan(1)
    expect(await mergeFolded(warehouse, never)).toBe(0)
    expect(await mergeFolded(warehouse, never, { bytesMin: 0 })).toBeGreaterThan(0)
    expect(await partsOf(warehouse, 'nft_holder_tokens')).toBe(1)
    expect(await dumpTables(warehouse)).toEqual(before)
    expect(await mergeFolded(warehouse, never, { bytesMin: 0 })).toBe(0)
  },
)

test('small parts are merged among themselves, and nothing else changes', async () => {
  const { warehouse, empty } = stores()
  await empty()
  await foldInParts(warehouse, 6)
  const before = await dumpTables(warehouse)
  expect(await partsOf(warehouse, 'nft_holder_tokens')).toBeGreaterThan(3)
  await mergeSmall(warehouse, AbortSignal.abort())
  expect(await partsOf(warehouse, 'nft_holder_tokens')).toBeGreaterThan(3)
  await mergeSmall(warehouse, never)
  expect(await partsOf(warehouse, 'nft_holder_tokens')).toBeLessThan(3)
  expect(await dumpTables(warehouse)).toEqual(before)
})
