import type { ExecutionBlock } from '../../infra/ports/execution-source.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { executionBlockEvents } from '../../ingest/execution/block-events.ts'
import { joinRows } from '../../processors/loop/rows.ts'
import { projectExecutionBlock } from '../../processors/rewards/execution.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { blockRevenuesSql } from '../../schemas/tables/block-revenues.ts'

// Final blocks and their proposers in the tables, and what these make of their revenue.

const CHAIN = 'mainnet'
export const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`
export const pubkeyOf = (number: number): string => `0x${number.toString(16).padStart(96, '0')}`

/** A final block whose proposer has proposed no other one: index and slot are its number. */
export interface GivenProposer {
  readonly number: number
  readonly blockHash: string
  readonly coinbase: string
  /** Where the operator says that it is paid. */
  readonly told: readonly string[]
  readonly withdrawalAddress?: string
  /** What it was made with, where it was made here. */
  readonly registered?: string | undefined
  readonly depositContract?: string
}

export async function insertProposers(warehouse: Warehouse, proposers: readonly GivenProposer[]): Promise<void> {
  const ones = <Row>(rows: readonly Row[]) => BigUint64Array.from(rows, () => 1n)
  const numbers = proposers.map(({ number }) => number)
  await warehouse.insert('finalized_blocks', {
    chain: numbers.map(() => CHAIN),
    slot: BigUint64Array.from(numbers, BigInt),
    epoch: Uint32Array.from(numbers, () => 0),
    day: Uint16Array.from(numbers, () => 100),
    block_root: numbers.map(hashOf),
    proposer_index: Uint32Array.from(numbers),
    execution_block_hash: proposers.map(({ blockHash }) => blockHash),
    execution_block_number: BigUint64Array.from(numbers, BigInt),
    fee_recipient: proposers.map(({ coinbase }) => coinbase),
    version: ones(numbers),
  })
  await warehouse.insert('validators', {
    chain: numbers.map(() => CHAIN),
    validator_index: Uint32Array.from(numbers),
    pubkey: numbers.map(pubkeyOf),
    withdrawal_credentials: proposers.map(({ withdrawalAddress }) =>
      withdrawalAddress === undefined
        ? `0x00${'ee'.repeat(31)}`
        : `0x01${'00'.repeat(11)}${withdrawalAddress.slice(2)}`,
    ),
    version: ones(numbers),
  })
  const told = proposers.flatMap(({ number, told: addresses }) => addresses.map((address) => ({ number, address })))
  await warehouse.insert('fee_recipients', {
    chain: told.map(() => CHAIN),
    pubkey: told.map(({ number }) => pubkeyOf(number)),
    fee_recipient: told.map(({ address }) => address),
    from_day: Uint16Array.from(told, () => 0),
    is_own: Uint8Array.from(told, () => 1),
    version: ones(told),
  })
  const created = proposers.filter(({ registered }) => registered !== undefined)
  await warehouse.insert('created_validators', {
    chain: created.map(() => CHAIN),
    pubkey: created.map(({ number }) => pubkeyOf(number)),
    account: created.map(() => 'a'),
    withdrawal_credentials: created.map(() => ''),
    deposit_from: created.map(({ registered = '' }) => registered),
    fee_recipient: created.map(({ registered = '' }) => registered),
    amount_gwei: created.map(() => 32n * 10n ** 9n),
    deposit_data_root: created.map(() => ''),
    created_at: Uint32Array.from(created, () => 1),
    version: ones(created),
  })
  const contracts = proposers.flatMap(({ depositContract }) => depositContract ?? []).slice(0, 1)
  await warehouse.insert('deposit_contracts', {
    chain: contracts.map(() => CHAIN),
    address: contracts,
    version: ones(contracts),
  })
}

/** Inserts the rows that events of execution blocks become, in the order of a log. */
export async function insertEvents(warehouse: Warehouse, events: readonly EncodedEvent[]): Promise<void> {
  const rows = events.flatMap(
    (event, i) => projectExecutionBlock({ event, position: { partition: 0, offset: BigInt(i) } }, CHAIN).rows,
  )
  for (const { table, columns } of joinRows(rows)) await warehouse.insert(table, columns)
}

export interface RevenueRow {
  readonly revenue_class: string
  readonly revenue_wei: string
  readonly claimed_wei: string
  readonly recipient: string
  readonly is_contradicted: number
}

/** What all final blocks have paid, by slot. */
export async function revenuesOf(warehouse: Warehouse): Promise<ReadonlyMap<number, RevenueRow>> {
  const rows = await warehouse.query<RevenueRow & { readonly slot: string }>(
    `SELECT slot, revenue_class, revenue_wei, claimed_wei, recipient, is_contradicted FROM (${blockRevenuesSql('1')})`,
  )
  return new Map(rows.map(({ slot, ...row }) => [Number(slot), row]))
}

/** What a block is read as that is the only one, of a proposer that is paid where it is told. */
export async function givenRevenue(
  warehouse: Warehouse,
  block: ExecutionBlock,
  told: readonly string[],
): Promise<RevenueRow | undefined> {
  const { hash, coinbase } = block.header
  await insertProposers(warehouse, [{ number: 1, blockHash: hash, coinbase, told }])
  await insertEvents(warehouse, executionBlockEvents(CHAIN, block, '2026-01-01T00:00:00.000Z').blocks)
  return (await revenuesOf(warehouse)).get(1)
}
