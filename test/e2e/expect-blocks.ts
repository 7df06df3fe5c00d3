import { expect } from 'vitest'
import { FAMILIES } from '../../schemas/tables/projections.ts'
import { executionBlocksOf, finalBlockOf } from './execution-oracle.ts'
import type { OracleBlock } from './oracle.ts'
import type { Row, Tables } from './stores.ts'

/** Tables that hold what every chain has, or what no chain has: all others are about validators. */
const TABLES_OF_ALL: ReadonlySet<string> = new Set([
  ...Object.keys(FAMILIES.execution),
  ...Object.keys(FAMILIES.nft),
  'access_tokens',
  'fee_rates',
])

/** A chain of execution blocks, and how far it has been made. */
export interface ExecutionChainPlace {
  readonly chain: string
  readonly url: string
  readonly last: number
}

/** Every canonical block of both chains once, by the name of its chain, and no other block. */
export async function expectCanonicalBlocks(
  tables: Tables,
  beacon: { readonly chain: string; readonly blocks: readonly OracleBlock[] },
  { chain, url, last }: ExecutionChainPlace,
): Promise<void> {
  const hashesOf = (name: string) =>
    tables.execution_blocks.filter((row) => row.chain === name).map((row) => String(row.block_hash))
  expect(tables.beacon_blocks.map((row) => [row.chain, row.slot, row.execution_block_hash])).toEqual(
    beacon.blocks.map(({ slot, blockHash }) => [beacon.chain, String(slot), blockHash]),
  )
  expect(hashesOf(beacon.chain)).toEqual(beacon.blocks.map(({ blockHash }) => blockHash).sort())
  const expected = await executionBlocksOf(url, 1, last)
  expect(hashesOf(chain)).toEqual(expected.map(({ hash }) => hash).sort())
  expect(tables.execution_blocks).toHaveLength(beacon.blocks.length + expected.length)
}

/** The blocks of a chain as its node has them, with all parts of their logs, and how far they are final. */
export async function expectExecutionChain(tables: Tables, { chain, url, last }: ExecutionChainPlace): Promise<void> {
  const rows = new Map(tables.execution_blocks.map((row) => [row.block_hash, row]))
  const ofChain = (row: Row): boolean => row.chain === chain
  const parts = Map.groupBy(tables.execution_log_parts.filter(ofChain), (row) => row.block_hash)
  const expected = await executionBlocksOf(url, 1, last)
  for (const block of expected) {
    const row = rows.get(block.hash)
    expect(row, `block ${block.number}`).toMatchObject({
      chain,
      block_number: String(block.number),
      time: new Date(block.unixSec * 1000).toISOString().slice(0, 19).replace('T', ' '),
      coinbase: block.coinbase,
      transactions: block.transactions,
      base_fee_per_gas_wei: String(block.baseFeeWei),
      priority_fees_wei: String(block.tipsWei),
    })
    const ofBlock = parts.get(block.hash) ?? []
    const numbers = Array.from({ length: Number(row?.log_parts) }, (_, part) => part)
    expect(
      ofBlock.map(({ part }) => part),
      `block ${block.number}`,
    ).toEqual(numbers)
    const logs = ofBlock.reduce((sum, part) => sum + Number(part.logs), 0)
    expect(logs, `block ${block.number}`).toBe(block.tokenLogs)
  }
  // Most blocks move tokens: the equality above is about something.
  expect(expected.reduce((sum, { tokenLogs }) => sum + tokenLogs, 0)).toBeGreaterThan(last)
  const final = await finalBlockOf(url)
  const finalHash = expected.find(({ number }) => number === final)?.hash
  expect(tables.execution_finality.filter(ofChain)).toEqual([
    expect.objectContaining({ chain, block_number: String(final), block_hash: finalHash }),
  ])
}

/** Nothing of a chain without validators in tables of validators and their rewards. */
export function expectOnlyIn(tables: Tables, chain: string): void {
  for (const [table, rows] of Object.entries(tables).filter(([name]) => !TABLES_OF_ALL.has(name))) {
    expect(
      rows.filter((row) => row.chain !== chain),
      table,
    ).toEqual([])
  }
}
