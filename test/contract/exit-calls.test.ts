import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { wantCallsOf } from '../../commands/exit-calls.ts'
import { exitCallLines, readExitCalls } from '../../commands/exit-calls-status.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { projectAccountFact } from '../../processors/accounts/account-facts.ts'
import { callsToTake } from '../../processors/validators/exit/calls-to-take.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { type ExitCallRead, exitCallId, exitCallRead } from '../../schemas/events/exit-calls.ts'
import { CALLS_TAKEN_MAX, takeExitCalls } from '../../schemas/jobs/take-exit-calls.ts'
import { addressOf, hashOf, insertRows, pubkeyOf } from './api-fixture.ts'

const CLOCK = { genesisTimeSec: 1_700_000_000, secondsPerSlot: 12, slotsPerEpoch: 32 }
const [CONTRACT, IMPOSTOR, DEPOSIT_CONTRACT] = [addressOf(1), addressOf(2), addressOf(3)]
const [ALICE, BOB, STRANGER] = [addressOf(11), addressOf(12), addressOf(13)]
const credentialsOf = (address: string) => `0x01${'00'.repeat(11)}${address.slice(2)}`
const ROOT = hashOf(9)
const TABLES = [
  'chains',
  'exit_calls',
  'exit_call_ends',
  'finalized_blocks',
  'created_validators',
  'deposits',
  'deposit_contracts',
] as const

let directory: string
let warehouse: Warehouse

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'epochline-exit-calls-'))
  warehouse = await openWarehouse({ directory })
  await migrate(warehouse, await readMigrations())
})
afterAll(async () => {
  await warehouse[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})
beforeEach(async () => {
  for (const table of TABLES) await warehouse.command(`TRUNCATE TABLE ${table}`)
  await insertRows(warehouse, 'deposit_contracts', [{ address: DEPOSIT_CONTRACT, version: 1 }])
  await insertRows(warehouse, 'created_validators', [created(1, ALICE), created(2, ALICE), created(3, BOB)])
})

/** Block n is of slot n. */
const timeOf = (block: number) => CLOCK.genesisTimeSec + 12 * block

function finalize(...blocks: readonly number[]): Promise<void> {
  const rewards = {
    attestations_gwei: 0,
    sync_aggregate_gwei: 0,
    proposer_slashings_gwei: 0,
    attester_slashings_gwei: 0,
  }
  return insertRows(
    warehouse,
    'finalized_blocks',
    blocks.map((slot) => ({
      ...{ slot, epoch: Math.floor(slot / 32), day: '2023-11-15', block_root: hashOf(slot), proposer_index: 1 },
      ...{ execution_block_hash: hashOf(slot), execution_block_number: slot, fee_recipient: addressOf(1) },
      ...{ version: 1, ...rewards },
    })),
  )
}

const call = (block: number, change: Record<string, string | number> = {}) => ({
  ...{ contract: CONTRACT, block_hash: hashOf(block), log_index: 0, block_number: block, time: timeOf(block) },
  ...{
    transaction_hash: hashOf(1_000 + block),
    withdrawal_address: ALICE,
    kind: 'all',
    fault: '',
    pubkeys: '',
    version: 1,
  },
  ...change,
})

const created = (index: number, address: string) => ({
  ...{
    pubkey: pubkeyOf(index),
    account: 'acme',
    withdrawal_credentials: credentialsOf(address),
    deposit_from: address,
  },
  ...{
    fee_recipient: address,
    amount_gwei: 32_000_000_000n,
    deposit_data_root: ROOT,
    created_at: 1,
    created_at_slot: -1,
  },
  version: 1,
})

const deposit = (index: number, block: number, change: Record<string, string | number> = {}) => ({
  ...{ pubkey: pubkeyOf(index), contract: DEPOSIT_CONTRACT, block_hash: hashOf(block), log_index: index },
  ...{
    block_number: block,
    time: timeOf(block),
    transaction_hash: hashOf(1),
    withdrawal_credentials: credentialsOf(ALICE),
  },
  ...{ amount_gwei: 32_000_000_000n, deposit_data_root: ROOT, deposit_index: index, version: 1, ...change },
})

const toTake = async () => {
  const calls = await callsToTake(warehouse, { chain: 'mainnet', contract: CONTRACT }, CLOCK)
  const input = { chain: 'mainnet', contract: CONTRACT, calls: [...calls] }
  expect(takeExitCalls.parse(JSON.parse(JSON.stringify(input)))).toEqual(input)
  return calls
}

function readOf(block: number, outcome: ExitCallRead['outcome'], withdrawalAddress = ALICE): ExitCallRead {
  const place = { blockNumber: block, blockHash: hashOf(block), logIndex: 0, txHash: hashOf(1_000 + block) }
  return { chain: 'mainnet', contract: CONTRACT, ...place, withdrawalAddress, outcome }
}

async function tellEnd(read: ExitCallRead): Promise<void> {
  const event = encodeEvent(exitCallRead, {
    ...{ id: exitCallId(read), key: ACCOUNTS_KEY, time: '2026-11-22T00:00:00.000Z', data: read },
  })
  const { rows } = projectAccountFact(
    { event, position: { partition: 0, offset: BigInt(read.blockNumber) } },
    'mainnet',
  )
  for (const { table, columns } of rows) await warehouse.insert(table, columns)
}

describe('calls for exits', () => {
  test('are taken when they are final, of the chain’s contract, once, the oldest first', async () => {
    const listed = { kind: 'listed', pubkeys: [1, 2].map((index) => pubkeyOf(index).slice(2)).join('') }
    await insertRows(warehouse, 'exit_calls', [
      call(20, listed),
      call(10),
      call(30, { kind: 'faulty', fault: 'too_many_validators', withdrawal_address: BOB }),
      call(40, { contract: IMPOSTOR }),
      call(10, { contract: IMPOSTOR, log_index: 5 }),
      call(50, { chain: 'hoodi' }),
      call(60), // not final
      call(20, { block_hash: hashOf(0xf2), log_index: 1 }), // taken back by a reorg
    ])
    expect(await toTake()).toEqual([])
    await finalize(10, 20, 30, 40, 50)
    const place = (block: number) => ({
      ...{ blockNumber: block, blockHash: hashOf(block), logIndex: 0, timeSec: timeOf(block), deposits: [] },
      txHash: hashOf(1_000 + block),
    })
    expect(await toTake()).toEqual([
      { ...place(10), withdrawalAddress: ALICE, calledFor: { kind: 'all' } },
      { ...place(20), withdrawalAddress: ALICE, calledFor: { kind: 'listed', pubkeys: [1, 2].map(pubkeyOf) } },
      { ...place(30), withdrawalAddress: BOB, calledFor: { kind: 'faulty', fault: 'too_many_validators' } },
    ])
    await tellEnd(readOf(10, { status: 'taken', scheduled: 1, passedOver: [] }))
    await tellEnd(readOf(30, { status: 'ignored', reason: 'too_many_validators' }, BOB))
    expect((await toTake()).map(({ blockNumber }) => blockNumber)).toEqual([20])
  })

  test('are told with final deposits that were signed here, of those that they are for', async () => {
    await insertRows(warehouse, 'deposits', [
      deposit(1, 5),
      deposit(1, 4, { deposit_data_root: hashOf(8), log_index: 9 }), // a stranger's, with our public key
      deposit(1, 3, { contract: IMPOSTOR }),
      deposit(2, 7),
      deposit(3, 5),
      deposit(2, 6, { block_hash: hashOf(0xf6) }), // taken back
    ])
    await finalize(3, 4, 5, 6, 7, 10, 11, 12)
    await insertRows(warehouse, 'exit_calls', [
      call(10),
      call(11, { kind: 'listed', pubkeys: `${pubkeyOf(2).slice(2)}${pubkeyOf(3).slice(2)}` }),
      call(12, { withdrawal_address: STRANGER }),
    ])
    expect((await toTake()).map(({ deposits }) => deposits)).toEqual([
      [
        { pubkey: pubkeyOf(1), blockNumber: 5 },
        { pubkey: pubkeyOf(2), blockNumber: 7 },
      ],
      [{ pubkey: pubkeyOf(2), blockNumber: 7 }],
      [],
    ])
  })

  test('are taken from who has validators here before others, and of nobody many at a time', async () => {
    const flood = Array.from({ length: 40 }, (_, i) =>
      call(10, { log_index: i, withdrawal_address: i < 5 ? STRANGER : addressOf(100 + i) }),
    )
    const alices = Array.from({ length: 3 }, (_, i) => call(20 + i))
    await insertRows(warehouse, 'exit_calls', [...flood, ...alices])
    await finalize(10, 20, 21, 22)
    const calls = await toTake()
    expect(calls).toHaveLength(CALLS_TAKEN_MAX)
    expect(calls.slice(0, 2).map(({ blockNumber }) => blockNumber)).toEqual([20, 21])
    expect(calls.filter(({ withdrawalAddress }) => withdrawalAddress === STRANGER)).toHaveLength(2)
  })

  test('are asked to be taken, as long as their end is not known, once what they are compared with is up to date', async () => {
    const requested: unknown[] = []
    let behind = { group: 'accounts', lag: 33n }
    const ports = {
      eventLog: { lag: async (_: string, group: string) => (group === behind.group ? behind.lag : 0n) },
      warehouse,
      jobQueue: { request: async (...asked: unknown[]) => void requested.push(asked) },
    }
    const want = () => wantCallsOf(ports, { chain: 'mainnet', contract: CONTRACT })
    await insertRows(warehouse, 'exit_calls', [call(10)])
    await finalize(10)
    await want() // the chain has no clock yet
    await insertRows(warehouse, 'chains', [
      { genesis_time_sec: CLOCK.genesisTimeSec, seconds_per_slot: 12, slots_per_epoch: 32, version: 1 },
    ])
    for (const group of ['accounts', 'execution-logs', 'validators']) {
      behind = { group, lag: 33n }
      await want()
      expect(requested, group).toEqual([])
    }
    behind = { group: 'accounts', lag: 32n }
    for (let times = 0; times < 2; times++) await want()
    const input = { chain: 'mainnet', contract: CONTRACT, calls: await toTake() }
    expect(input.calls).toHaveLength(1)
    expect(requested).toEqual([
      ['take-exit-calls', 'mainnet', input],
      ['take-exit-calls', 'mainnet', input],
    ])
    await tellEnd(readOf(10, { status: 'ignored', reason: 'no_validators_here' }))
    await want()
    expect(requested).toHaveLength(2)
  })

  test('are shown to an operator, with the reason of what was ignored or left out', async () => {
    expect(await readExitCalls(warehouse, ['mainnet'])).toEqual({})
    await tellEnd(readOf(10, { status: 'taken', scheduled: 1, passedOver: [] }))
    const passedOver = [{ reason: 'not_deposited' as const, validators: 2, pubkeys: [pubkeyOf(1), pubkeyOf(2)] }]
    await tellEnd(readOf(20, { status: 'taken', scheduled: 1, passedOver }))
    await tellEnd(readOf(30, { status: 'ignored', reason: 'not_withdrawal_address', pubkey: pubkeyOf(3) }, BOB))
    const { mainnet } = await readExitCalls(warehouse, ['mainnet', 'hoodi'])
    expect(mainnet).toEqual({
      taken: 2,
      ignored: 1,
      not_whole: [
        { transaction_hash: hashOf(1_030), withdrawal_address: BOB, reason: 'not_withdrawal_address' },
        { transaction_hash: hashOf(1_020), withdrawal_address: ALICE, passed_over: { not_deposited: 2 } },
      ],
    })
    expect(exitCallLines('mainnet', mainnet as NonNullable<typeof mainnet>)).toEqual([
      'mainnet: 2 taken, 1 ignored',
      `mainnet: ${hashOf(1_030)} was ignored (not_withdrawal_address)`,
      `mainnet: ${hashOf(1_020)} left out 2 not_deposited`,
    ])
  })
})
