import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { ApiParts } from '../../api/http/api-parts.ts'
import type { ApiChain } from '../../api/http/chain-path.ts'
import type { Health } from '../../api/http/health.ts'
import type { Operation } from '../../api/http/operation.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import { openStatementSigner } from '../../api/http/statement-signer.ts'
import { REWARDS_OPERATIONS } from '../../api/rewards/plugin.ts'
import { VALIDATORS_OPERATIONS } from '../../api/validators/plugin.ts'
import type { QueryLimits, QueryParams, Warehouse, WordsReader } from '../../infra/ports/warehouse.ts'
import { chainNames } from '../../schemas/chains.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { CHAINLESS_PROJECTIONS, type Projection } from '../../schemas/tables/projections.ts'
import { openEmptyWarehouse } from '../empty-warehouse.ts'
import { noJobs } from '../unit/no-jobs.ts'

type Value = string | number | bigint

/** Every REST operation that the API serves. */
export const OPERATIONS: readonly Operation[] = [...REWARDS_OPERATIONS, ...VALIDATORS_OPERATIONS]

export const MAINNET: ApiChain = { names: chainNames('ethereum', 'mainnet'), hasBeacon: true }
export const HOODI: ApiChain = { names: chainNames('ethereum', 'hoodi'), hasBeacon: true }
/** Followed by its execution node alone. */
export const SCROLL: ApiChain = { names: chainNames('scroll', 'mainnet'), hasBeacon: false }

/** 2026-11-20 12:00 in UTC+8. */
export const NOW_MS = Date.parse('2026-11-20T04:00:00Z')
/** The machine's clock, where the chain's was led days ahead of it. */
export const WALL_MS = NOW_MS - 5 * 86_400_000
export const TOKEN = 'secret-token-of-demo'
/** Sixteen slots after the day begins, so that epochs lie across midnight: slot 14384 is the first one of 2026-11-20. */
export const GENESIS_SEC = Date.parse('2026-11-17T16:03:12Z') / 1000
/** Newest complete epoch; the rows of 452 are there, its completion is not. */
export const NEWEST_EPOCH = 451
/** Whoever account facts up to this version name was looked for in the registry before the first epoch. */
export const LOOKED_THROUGH = 1_000
/** Epochs that the API's validators may wait for their deposits, and how many of them an account may have. */
export const EXPIRY_EPOCHS = 100
export const UNFUNDED_MAX = 5
export const FAR = '18446744073709551615'

export function pubkeyOf(index: number): string {
  return `0x${index.toString(16).padStart(96, 'a')}`
}

export function hashOf(number: number): string {
  return `0x${number.toString(16).padStart(64, '0')}`
}

export function addressOf(number: number): string {
  return `0x${number.toString(16).padStart(40, '0')}`
}

/** Rows that name no chain are mainnet's. */
export async function insertRows(warehouse: Warehouse, table: Projection, rows: readonly Record<string, Value>[]) {
  const own = CHAINLESS_PROJECTIONS.has(table) ? rows : rows.map((row) => ({ chain: MAINNET.names.name, ...row }))
  const [first] = own
  if (first === undefined) return
  const literal = (value: Value | undefined) => (typeof value === 'string' ? `'${value}'` : String(value))
  const names = Object.keys(first)
  const tuples = own.map((row: Record<string, Value>) => `(${names.map((name) => literal(row[name])).join(', ')})`)
  await warehouse.command(`INSERT INTO ${table} (${names.join(', ')}) VALUES ${tuples.join(', ')}`)
}

interface OwnerRow {
  readonly chain?: string
  readonly account: string
  readonly pubkey: string
  /** `YYYY-MM-DD`; absent: the start of all history. */
  readonly from?: string
  readonly version?: number
}

/** Makes accounts the owners of validators, as facts of the log do. */
export async function insertOwners(warehouse: Warehouse, owners: readonly OwnerRow[]): Promise<void> {
  const named = owners.map(({ from = '1970-01-01', chain = MAINNET.names.name, version = 1, account, pubkey }) => ({
    from,
    row: { chain, account, pubkey, version },
  }))
  await insertRows(
    warehouse,
    'validator_owners',
    named.map(({ from, row }) => ({ ...row, from_day: from })),
  )
  const claims = named.map(({ row }) => row).filter(({ account }) => account !== '')
  await insertRows(warehouse, 'account_validators', claims)
}

export function dailyRow(day: string, validator_index: number, clGwei: bigint, elWei: bigint, version = 1) {
  return { day, validator_index, cl_reward_gwei: clGwei, el_reward_wei: elWei, source_gwei: clGwei, version }
}

export function epochRow(epoch: number, day: string, validator_index: number, change: Record<string, Value> = {}) {
  return {
    epoch,
    day,
    validator_index,
    source_gwei: 1,
    target_gwei: 2,
    head_gwei: 3,
    inactivity_gwei: 0,
    balance_gwei: 32_000_000_000n + BigInt(validator_index),
    effective_balance_gwei: 32_000_000_000n,
    status: 2,
    slashed: 0,
    activation_epoch: 3,
    exit_epoch: FAR,
    withdrawable_epoch: FAR,
    version: 1,
    ...change,
  }
}

/** Accounts, names, three validators of `demo` (10, 11, 12), one of `other` (20), and a key that the registry lacks. */
async function fillAccounts(warehouse: Warehouse): Promise<void> {
  await insertRows(warehouse, 'access_tokens', [
    { token_hash: hashToken(TOKEN), account: 'demo', version: 1, is_deleted: 0 },
    { token_hash: hashToken('token-of-other'), account: 'other', version: 2, is_deleted: 0 },
    { token_hash: hashToken('token-of-empty'), account: 'empty', version: 3, is_deleted: 0 },
    { token_hash: hashToken('revoked'), account: 'demo', version: 4, is_deleted: 0 },
  ])
  // Versions of one insert are merged by it, so newer ones come in inserts of their own.
  await insertRows(warehouse, 'access_tokens', [
    { token_hash: hashToken('revoked'), account: 'demo', version: 5, is_deleted: 1 },
  ])
  await insertOwners(warehouse, [
    ...[10, 11, 12, 13].map((index) => ({ account: 'demo', pubkey: pubkeyOf(index) })),
    { account: 'other', pubkey: pubkeyOf(20) },
  ])
  await insertRows(
    warehouse,
    'validators',
    [10, 11, 12, 20].map((validator_index) => ({
      validator_index,
      pubkey: pubkeyOf(validator_index),
      withdrawal_credentials:
        validator_index === 12
          ? `0x00${'77'.repeat(31)}`
          : `0x01${'00'.repeat(11)}${addressOf(validator_index).slice(2)}`,
      version: 1,
    })),
  )
  await insertRows(warehouse, 'registry_looks', [{ accounts_version: LOOKED_THROUGH, from_epoch: 0, version: 1 }])
}

/** Closed days 18 and 19, the open day 20 as detail, and rows that no answer may count. */
async function fillRewards(warehouse: Warehouse): Promise<void> {
  await insertRows(warehouse, 'chains', [
    { genesis_time_sec: GENESIS_SEC, seconds_per_slot: 12, slots_per_epoch: 32, version: 1 },
  ])
  await insertRows(
    warehouse,
    'epochs',
    [447, 448, 449, 450, 451].map((epoch) => ({
      epoch,
      first_slot: epoch * 32,
      last_slot: epoch * 32 + 31,
      blocks: 32,
      version: 1,
    })),
  )
  await insertRows(warehouse, 'closed_days', [
    { day: '2026-11-18', first_slot: 0, last_slot: 7183, validators: 4, validators_unexplained: 0, version: 1 },
    { day: '2026-11-19', first_slot: 7184, last_slot: 14383, validators: 4, validators_unexplained: 0, version: 1 },
  ])
  await insertRows(warehouse, 'daily_rewards', [
    dailyRow('2026-11-18', 10, 999n, 999n, 1),
    dailyRow('2026-11-18', 11, -50n, 0n),
    dailyRow('2026-11-18', 12, -1n, 1_000_000_001n), // one wei above zero
    dailyRow('2026-11-19', 10, -2_000n, 0n),
    dailyRow('2026-11-19', 11, 500n, 0n),
    dailyRow('2026-11-19', 12, 0n, 0n), // no income, and no loss
    dailyRow('2026-11-19', 20, 1_000_000n, 1n),
    dailyRow('2026-11-17', 10, 77n, 0n), // never closed
    dailyRow('2026-11-20', 10, 123_456n, 0n), // not closed yet
  ])
  await insertRows(warehouse, 'daily_rewards', [dailyRow('2026-11-18', 10, 100n, 5_000_000_000_000_000n, 2)])
  await insertRows(warehouse, 'validator_epochs', [
    epochRow(449, '2026-11-19', 10), // of a closed day
    ...[450, 451, 452].flatMap((epoch) => [
      epochRow(epoch, '2026-11-20', 10),
      epochRow(epoch, '2026-11-20', 11, { source_gwei: -4, target_gwei: -5, head_gwei: 0, inactivity_gwei: -6 }),
      epochRow(epoch, '2026-11-20', 12, { status: 6, slashed: 1, exit_epoch: 440, withdrawable_epoch: 8632 }),
      epochRow(epoch, '2026-11-20', 20),
    ]),
  ])
  await insertRows(
    warehouse,
    'epoch_proofs',
    [449, 450, 451, 452].map((epoch) => ({ epoch, level: epoch === 449 ? 'anchored' : 'reported', version: 1 })),
  )
  const ledger = (slot: number, day: string, validator_index: number, kind: string, amount_gwei: number) => ({
    slot,
    epoch: Math.floor(slot / 32),
    day,
    validator_index,
    kind,
    reference: 0,
    amount_gwei,
    version: 1,
  })
  await insertRows(warehouse, 'ledger_entries', [
    ledger(14_370, '2026-11-19', 10, 'sync', 10_000), // closed half of epoch 449
    ledger(14_390, '2026-11-20', 10, 'sync', 70), // open half of epoch 449
    ledger(14_401, '2026-11-20', 10, 'proposer', 90),
    ledger(14_402, '2026-11-20', 12, 'slashing_penalty', -600),
    ledger(14_403, '2026-11-20', 10, 'withdrawal', -5_000),
    ledger(14_465, '2026-11-20', 10, 'sync', 7_777), // epoch 452 is not complete
  ])
}

/** Three proposals of the open day: one paid, one whose execution block was reverted, one after the newest epoch. */
async function fillBlocks(warehouse: Warehouse): Promise<void> {
  const finalized = (slot: number, proposer_index: number) => ({
    slot,
    epoch: Math.floor(slot / 32),
    day: slot < 14_384 ? '2026-11-19' : '2026-11-20',
    block_root: hashOf(slot),
    proposer_index,
    execution_block_hash: hashOf(slot),
    execution_block_number: slot,
    fee_recipient: addressOf(slot),
    attestations_gwei: 1,
    sync_aggregate_gwei: 2,
    proposer_slashings_gwei: 0,
    attester_slashings_gwei: 0,
    version: 1,
  })
  const slots = [
    [14_375, 10],
    [14_401, 10],
    [14_402, 11],
    [14_465, 10],
  ] as const
  await insertRows(
    warehouse,
    'finalized_blocks',
    slots.map(([slot, proposer]) => finalized(slot, proposer)),
  )
  const execution = (slot: number, version: number, is_deleted: number) => ({
    block_hash: hashOf(slot),
    block_number: slot,
    time: `2026-11-20 00:${String(slot % 60).padStart(2, '0')}:00`,
    coinbase: addressOf(slot),
    transactions: 3,
    base_fee_per_gas_wei: 7,
    priority_fees_wei: 3_000_000_000_000_001n,
    version,
    is_deleted,
  })
  await insertRows(warehouse, 'execution_blocks', [
    execution(14_375, 1, 0),
    execution(14_401, 2, 0),
    execution(14_402, 3, 0),
    execution(14_465, 5, 0),
  ])
  await insertRows(warehouse, 'execution_blocks', [execution(14_402, 4, 1)])
  const settlement = (slot: number, validator_index: number, time: string, account = 'demo') => ({
    account,
    slot,
    block_number: slot,
    validator_index,
    pubkey: pubkeyOf(validator_index),
    time,
    fee_address: addressOf(slot),
    revenue_class: 'builder_payment',
    revenue_wei: 19_723_733_185_782_400n,
    fee_rate: '0.3',
    service_fee_wei: 5_917_119_955_734_720n,
    user_reward_wei: 13_806_613_230_047_680n,
    version: 1,
  })
  await insertRows(warehouse, 'settlements', [
    settlement(100, 10, '2026-10-20 15:59:59'), // 32 days ago in UTC+8
    settlement(200, 10, '2026-11-18 15:59:59'), // 2026-11-18 23:59:59 in UTC+8
    settlement(300, 11, '2026-11-18 16:00:00'), // 2026-11-19 00:00:00 in UTC+8
    settlement(400, 12, '2026-11-20 03:00:00'),
    settlement(500, 20, '2026-11-20 03:00:00', 'other'),
  ])
}

/**
 * Another chain with another clock (slots of 6 seconds, 8 to an epoch): 17 and 18 are closed, 19 is open with a gap in its
 * epochs. `demo` has a validator of the same index and key as on mainnet, one more, and a key that is another account's there;
 * an index of mainnet's belongs to another key here. Whatever of this shows on mainnet is wrong, and the other way round.
 */
async function fillHoodi(warehouse: Warehouse): Promise<void> {
  const insert = (table: Projection, rows: readonly Record<string, Value>[]) =>
    insertRows(
      warehouse,
      table,
      rows.map((row) => ({ chain: HOODI.names.name, ...row })),
    )
  const chain = HOODI.names.name
  await insertOwners(warehouse, [
    ...[10, 30, 20].map((index) => ({ chain, account: 'demo', pubkey: pubkeyOf(index) })),
    { chain, account: 'other', pubkey: pubkeyOf(11) },
  ])
  await insert(
    'validators',
    [10, 30, 20].map((validator_index) => ({
      validator_index,
      pubkey: pubkeyOf(validator_index === 20 ? 11 : validator_index),
      withdrawal_credentials: `0x02${'00'.repeat(11)}${addressOf(99).slice(2)}`,
      version: 1,
    })),
  )
  await insert('registry_looks', [{ accounts_version: LOOKED_THROUGH, from_epoch: 0, version: 1 }])
  await insert('chains', [{ genesis_time_sec: GENESIS_SEC, seconds_per_slot: 6, slots_per_epoch: 8, version: 1 }])
  const epochs = [3587, 3588, 3589, 3595]
  await insert(
    'epochs',
    epochs.map((epoch) => ({ epoch, first_slot: epoch * 8, last_slot: epoch * 8 + 7, blocks: 8, version: 1 })),
  )
  const closed = { validators: 2, validators_unexplained: 0, version: 1 }
  await insert('closed_days', [
    { day: '2026-11-17', first_slot: 0, last_slot: 100, ...closed },
    { day: '2026-11-18', first_slot: 101, last_slot: 14_367, ...closed },
  ])
  await insert('daily_rewards', [dailyRow('2026-11-18', 10, 7_000n, 0n), dailyRow('2026-11-18', 30, 1n, 2n)])
  await insert('validator_epochs', [
    ...[...epochs, 3590].flatMap((epoch) => [
      epochRow(epoch, '2026-11-19', 10, { balance_gwei: 33_000_000_000n, status: 3 }),
      epochRow(epoch, '2026-11-19', 30, { source_gwei: 1_000 }),
    ]),
    // At mainnet's epochs of mainnet's days.
    ...[449, 450, 451].map((epoch) => epochRow(epoch, epoch === 449 ? '2026-11-19' : '2026-11-20', 10)),
  ])
  await insert(
    'epoch_proofs',
    [450, 3590].map((epoch) => ({ epoch, level: 'reported', version: 1 })),
  )
  const sync = { validator_index: 10, kind: 'sync', amount_gwei: 3, version: 1 }
  await insert('ledger_entries', [
    { slot: 14_400, epoch: 450, day: '2026-11-20', ...sync },
    { slot: 28_721, epoch: 3590, day: '2026-11-19', ...sync }, // in the gap
  ])
  const block = (slot: number, day: string, change: Record<string, Value> = {}) => ({
    slot,
    epoch: Math.floor(slot / 8),
    day,
    block_root: hashOf(slot),
    proposer_index: 10,
    execution_block_hash: hashOf(14_375), // a block of mainnet's
    execution_block_number: slot,
    fee_recipient: addressOf(77),
    has_rewards: 1,
    attestations_gwei: 4,
    sync_aggregate_gwei: 0,
    proposer_slashings_gwei: 0,
    attester_slashings_gwei: 0,
    version: 1,
    ...change,
  })
  await insert('finalized_blocks', [
    block(14_000, '2026-11-18', { has_rewards: 0, attestations_gwei: 0 }),
    block(14_001, '2026-11-18'),
    block(14_403, '2026-11-20', { epoch: 450 }),
    block(28_700, '2026-11-19'),
    block(28_722, '2026-11-19', { execution_block_hash: hashOf(28_722) }), // in the gap
  ])
  await insert('execution_blocks', [
    {
      block_hash: hashOf(28_722),
      block_number: 28_722,
      time: '2026-11-19 15:55:00',
      coinbase: addressOf(77),
      transactions: 1,
      base_fee_per_gas_wei: 7,
      priority_fees_wei: 9,
      version: 1,
      is_deleted: 0,
    },
  ])
  await insert('settlements', [
    {
      account: 'demo',
      slot: 600,
      block_number: 600,
      validator_index: 10,
      pubkey: pubkeyOf(10),
      time: '2026-11-20 01:00:00',
      fee_address: addressOf(600),
      revenue_class: 'local',
      revenue_wei: 10n,
      fee_rate: '0.5',
      service_fee_wei: 5n,
      user_reward_wei: 5n,
      version: 1,
    },
  ])
}

let moves = 0

/** Moves the tables by a token of nobody's interest, so that nothing that was kept before counts. */
export function moveTables(warehouse: Warehouse): Promise<void> {
  const row = { token_hash: hashToken(`moves ${++moves}`), account: 'empty', version: 1_000 + moves, is_deleted: 0 }
  return insertRows(warehouse, 'access_tokens', [row])
}

export interface ApiFixture extends AsyncDisposable {
  readonly api: Api
  /** What it is made from, for another one over the same tables. */
  readonly parts: ApiParts
  /** `api.url` with the prefix of the account. */
  readonly base: string
  readonly warehouse: Warehouse
  /** Statements since the fixture was opened. */
  readonly statements: string[]
  /** Everything that was logged. */
  readonly logged: () => string
  health: Health
  /** Whether every account fact is in the tables. */
  accountsKnown: boolean
  tablesWhole: boolean
  /** What is served; mainnet, hoodi and scroll at first. */
  chains: readonly ApiChain[]
  /** Runs before each statement of the API. */
  beforeStatement: (sql: string, limits?: QueryLimits) => Promise<void>
}

/**
 * The API over an in-process ClickHouse in its own directory, with the rows above. Unless writes are told, as servers do not tell
 * them, each question looks at the tables first.
 */
export async function openApiFixture({ tellsWrites = true } = {}): Promise<ApiFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-api-'))
  const warehouse = await openEmptyWarehouse(directory)
  await fillAccounts(warehouse)
  await fillRewards(warehouse)
  await fillBlocks(warehouse)
  await fillHoodi(warehouse)
  const statements: string[] = []
  const counted: WordsReader = {
    async query<Row>(sql: string, params?: QueryParams, limits?: QueryLimits) {
      await fixture.beforeStatement(sql, limits)
      statements.push(sql)
      return warehouse.query<Row>(sql, params, limits)
    },
    async queryWords(sql, params, limits) {
      await fixture.beforeStatement(sql, limits)
      statements.push(sql)
      return warehouse.queryWords(sql, params, limits)
    },
    writesOf: (tables) => (tellsWrites ? warehouse.writesOf?.(tables) : undefined),
  }
  const lines: string[] = []
  const health: Health = {
    chains: {
      mainnet: {
        kind: 'beacon',
        paused: false,
        headSlot: 14_500,
        headLag: { slots: 1, seconds: 12 },
        lastFinalizedEpoch: NEWEST_EPOCH,
        finalityLag: { epochs: 2, seconds: 768 },
        checks: { follows_head: true },
        reasons: [],
      },
    },
    lag: { finalized: 3 },
    checks: { tables_filled: true },
    reasons: [],
  }
  const chains: readonly ApiChain[] = [MAINNET, HOODI, SCROLL]
  const fixture = {
    beforeStatement: (_sql: string, _limits?: QueryLimits) => Promise.resolve(),
    health,
    accountsKnown: true,
    tablesWhole: true,
    chains,
  }
  const parts: ApiParts = {
    warehouse: counted,
    jobs: noJobs,
    unfundedRules: { expiryEpochs: EXPIRY_EPOCHS, unfundedMax: UNFUNDED_MAX },
    chains: () => fixture.chains,
    statementSigner: openStatementSigner(() => Buffer.alloc(32, 7)),
    log: pino({ level: 'debug' }, { write: (line: string) => lines.push(line) }),
    now: () => NOW_MS,
    wallNow: () => WALL_MS,
    standingAgeMsMax: 0,
    standingKeptMsMax: Number.POSITIVE_INFINITY,
    health: () => Promise.resolve(fixture.health),
    accountsKnown: async () => fixture.accountsKnown,
    tablesWhole: async () => fixture.tablesWhole,
  }
  const api = await openApi({ ...parts, host: '127.0.0.1', port: 0 })
  return Object.assign(fixture, {
    api,
    parts,
    base: `${api.url}/ethereum/mainnet/${TOKEN}`,
    warehouse,
    statements,
    logged: () => lines.join(''),
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]()
      await warehouse[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
    },
  })
}
