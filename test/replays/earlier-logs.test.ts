import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { readLogFacts } from '../../processors/loop/log-facts.ts'
import { paymentEvidence } from '../../processors/rewards/payment-evidence.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { TOPICS } from '../../schemas/events/envelope.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'
import { FOLDED_TABLES } from '../../schemas/tables/nft.ts'
import { PROJECTIONS, type Projection } from '../../schemas/tables/projections.ts'
import { dumpTables, rebuildFrom } from '../unit/projecting.ts'

// Logs that release 0.1 wrote, and the tables that it built from them: one log by hand with whole days, one that its ingesters
// wrote while they followed the devnet through a reorg. Its events name no chain, have one key per topic, and lie in the file
// format of that release.

type Row = Record<string, unknown>

const FIXTURES = join(import.meta.dirname, '../fixtures/release-0.1')
/** What the tables have besides since then. */
const NEW_COLUMNS = [
  ...['chain', 'has_rewards', 'log_parts', 'matches_hash', 'blocks_unexplained', 'unexplained_wei'],
  ...['moved_to_queue_gwei', 'consolidations_in_gwei', 'consolidations_out_gwei', 'level', 'validators_rounded'],
  ...['validators_unanchored', 'active_epochs', 'effective_balance_epochs_gwei'],
]
/** Tokens of then only read. */
const TOKEN_COLUMNS = {
  ...{ name: '', scopes: 'read', families: '', only_chain: '' },
  ...{ only_origins: '', only_ips: '', only_methods: '', only_contracts: '' },
  ...{ order_id: '', order_until: '' },
}
/** Blocks have evidence now, of which their class is made: what it came to is in the days and the settlements. */
const BLOCK_COLUMNS = ['revenue_class', 'revenue_wei', 'claimed_wei', 'recipient']
const EVIDENCE_COLUMNS = [
  ...['payment_recipient', 'payment_wei', 'payment_succeeded'],
  ...['extra_data', 'names_builder', 'pays_somebody', 'has_evidence'],
]
/** Their rows follow from what is known of the proposers, too, and so do their versions. */
const NEWER_VERSIONS = ['daily_rewards', 'closed_days', 'settlements']
const RENAMED: Readonly<Record<string, Projection>> = { chain: 'chains' }
const never = new AbortController().signal

const unpack = (name: string): Buffer => zstdDecompressSync(readFileSync(join(FIXTURES, `${name}.zst`)))

function without(names: readonly string[], row: unknown): Row {
  return Object.fromEntries(Object.entries(row as Row).filter(([name]) => !names.includes(name)))
}

/** That release took the last transaction's recipient for the proposer's own address: here the operator says that it is. */
async function tellFeeRecipients(eventLog: EventLog): Promise<void> {
  const own = new Map<number, Set<string>>()
  const payees = new Map<string, string>()
  for await (const { event } of eventLog.read({ topic: 'execution.blocks', signal: never })) {
    if (event.type !== executionBlock.name) continue
    const block = decodeEvent(executionBlock, event)
    for (const { recipient } of paymentEvidence(block)) payees.set(block.header.hash, recipient)
  }
  for await (const { event } of eventLog.read({ topic: 'beacon.epochs', signal: never })) {
    if (event.type !== epochBlocks.name) continue
    for (const { proposerIndex, executionBlockHash } of decodeEvent(epochBlocks, event).header.blocks) {
      const payee = payees.get(executionBlockHash)
      if (payee !== undefined) own.set(proposerIndex, (own.get(proposerIndex) ?? new Set()).add(payee))
    }
  }
  for await (const { event } of eventLog.read({ topic: 'validators', signal: never })) {
    const { chain, validators } = decodeEvent(validatorsIdentified, event)
    const recipients = validators.flatMap(({ index, pubkey }) =>
      [...(own.get(index) ?? [])].map((address) => ({ pubkey, address })),
    )
    const fact = {
      id: `told:${event.id}`,
      key: ACCOUNTS_KEY,
      time: event.time,
      data: { chain, recipients, isOwn: true },
    }
    await eventLog.append('accounts', [encodeEvent(feeRecipientsTold, fact)])
  }
}

const directory = mkdtempSync(join(tmpdir(), 'epochline-earlier-'))
let warehouse: Warehouse

beforeAll(async () => {
  warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
  await migrate(warehouse, await readMigrations())
})

afterAll(async () => {
  await warehouse[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

describe.each(['given-chain', 'devnet'])('a log of release 0.1 (%s)', (name) => {
  it('gives the tables that its release built, but for the new columns', async () => {
    const file = join(directory, `${name}.sqlite`)
    writeFileSync(file, unpack(`${name}.sqlite`))
    await using eventLog = await openSqliteEventLog({ file })
    await tellFeeRecipients(eventLog)
    await rebuildFrom(eventLog, warehouse)
    expect((await readLogFacts(eventLog, never))?.unnamedChain).toBe('mainnet')
    const tables = await dumpTables(warehouse)
    const before = JSON.parse(unpack(`${name}.tables.json`).toString()) as Record<string, Row[]>
    const tablesBefore = new Set<string>()
    for (const [table, rows] of Object.entries(before)) {
      const now = RENAMED[table] ?? table
      tablesBefore.add(now)
      const other = [
        ...BLOCK_COLUMNS.filter(() => table === 'execution_blocks'),
        ...EVIDENCE_COLUMNS,
        ...NEW_COLUMNS,
        ...Object.keys(TOKEN_COLUMNS),
      ]
      const ignored = NEWER_VERSIONS.includes(table) ? [...other, 'version'] : other
      const expected = rows.map(({ network, ...row }) => without(ignored, row))
      expect(
        tables[now]?.map((row) => without(ignored, row)),
        table,
      ).toEqual(expected)
      for (const row of tables[now] ?? [])
        if ('chain' in (row as Row)) expect(row, table).toMatchObject({ chain: 'mainnet' })
    }
    for (const row of tables.access_tokens ?? []) expect(row).toMatchObject(TOKEN_COLUMNS)
    expect(tables.dead_letters).toEqual([])
    // Nobody has told whose turn its empty slots were: that nothing is known of them is not that nobody missed any.
    for (const row of tables.epoch_proofs ?? []) expect(row).toMatchObject({ has_proposers: 0, is_compared: 0 })
    expect([tables.missed_slots, tables.network_epochs, tables.epoch_differences]).toEqual([[], [], []])
    expect(Object.keys(PROJECTIONS).filter((table) => !tablesBefore.has(table))).toEqual([
      'epoch_parts',
      'epoch_proofs',
      'epoch_residuals',
      'missed_slots',
      'network_epochs',
      'epoch_differences',
      'monthly_rewards',
      'closed_months',
      'block_payments',
      'block_balances',
      'relay_claims',
      'execution_finality',
      'execution_log_parts',
      'execution_heights',
      'execution_senders',
      'reverted_blocks',
      'weak_blocks',
      'deposit_contracts',
      'registry_looks',
      'deposits',
      'exit_calls',
      'nft_transfers',
      'nft_odd_logs',
      ...FOLDED_TABLES,
      'nft_tokens',
      'nft_metadata_changes',
      'nft_marks',
      'nft_contracts',
      'nft_contract_names',
      'nft_words',
      'nft_token_states',
      'nft_token_told',
      'nft_metadata_positions',
      'chain_queues',
      'deposit_queue_fronts',
      'order_ends',
      'validator_owners',
      'watched_validators',
      'settlement_corrections',
      'locked_settlements',
      'settlement_locks',
      'fee_recipients',
      'created_validators',
      'exit_steps',
      'exit_call_ends',
      'validator_labels',
      'staking_steps',
      'usage_minutes',
      'role_health',
    ])
  })

  it('holds events of every topic that was written then', async () => {
    await using eventLog = await openSqliteEventLog({ file: join(directory, `${name}.sqlite`) })
    const later = ['dead-letters', 'execution.logs', 'log', 'nft.metadata', 'roles', 'usage', 'users', 'webhooks']
    for (const topic of TOPICS.filter((one) => !later.includes(one))) {
      const events = await Array.fromAsync(eventLog.read({ topic, signal: never }))
      expect(events.length, topic).toBeGreaterThan(0)
      for (const { event } of events.filter(({ event: { id } }) => !id.startsWith('told:')))
        expect(event.version, event.id).toBe(1)
    }
  })
})
