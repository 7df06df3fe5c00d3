import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { executionBlockEvents, executionRevertEvent } from '../../ingest/execution/block-events.ts'
import { type Projector, project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { chainKey } from '../../schemas/chains.ts'
import { depositDataRoot } from '../../schemas/eth/deposit-data.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { ALL_EXITS_REQUESTED_TOPIC } from '../../schemas/eth/kept-logs.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { depositContractTold } from '../../schemas/events/deposit-contract.ts'
import { tries } from '../long-form.ts'
import { transactionColumns } from '../unit/execution-columns.ts'
import { emptyTables } from '../unit/filled-tables.ts'
import { depositLog, type GivenDeposit, givenDeposit } from '../unit/given-deposit.ts'
import { dumpTables, projecting, rebuildFrom } from '../unit/projecting.ts'
import { randomBytes } from '../unit/random-bytes.ts'

const never = new AbortController().signal
const CHAIN = 'hoodi'
const CONTRACT = `0x${'42'.repeat(20)}`
const IMPOSTOR = `0x${'66'.repeat(20)}`
const TIME_SEC = 1_780_000_000
const RUNS = tries(6, 100)

const time = new Date(TIME_SEC * 1_000).toISOString()

/** A call to an exit-request contract, for all of the sender's validators. */
const exitCall = {
  contract: IMPOSTOR,
  topics: [ALL_EXITS_REQUESTED_TOPIC, `0x${'00'.repeat(12)}${'ad'.repeat(20)}`],
  data: '0x',
}

/** An execution block whose transactions log deposits, by contract, and a call for exits. */
function block(number: number, fork: string, deposits: readonly (readonly [string, GivenDeposit])[]) {
  const logs = [...deposits.map(([contract, deposit]) => ({ contract, ...depositLog(deposit) })), exitCall]
  const joined = (texts: readonly string[]) => new Uint8Array(Buffer.concat(texts.map(bytesOf)))
  return {
    header: {
      number,
      hash: `0x${fork.repeat(62)}${number.toString(16).padStart(2, '0')}`,
      parentHash: `0x${'00'.repeat(32)}`,
      timestampSec: TIME_SEC + 12 * number,
      coinbase: IMPOSTOR,
      extraData: '0x',
      baseFeePerGasWei: '7',
      gasUsed: 21_000,
    },
    columns: transactionColumns([{}]),
    logs: {
      logIndex: Uint32Array.from(logs, (_, i) => i),
      transactionIndex: Uint32Array.from(logs, () => 0),
      transactionHash: joined(logs.map(() => hexOf(randomBytes(32, number)))),
      address: joined(logs.map(({ contract }) => contract)),
      topics: logs.map(({ topics }) => joined(topics)),
      data: logs.map(({ data }) => bytesOf(data)),
    },
    matchesHash: true,
    logsCheck: 'receipts' as const,
    hasOutcomes: true,
    provenSenders: [],
    withdrawals: [],
  }
}

const [ours, other, late] = [givenDeposit(10), givenDeposit(20), givenDeposit(30)]
const stranger = givenDeposit(40, { pubkey: ours.pubkey, amountGwei: 1_000_000_000n })
const taken = block(2, 'a', [
  [CONTRACT, ours],
  [CONTRACT, stranger],
])
const instead = block(2, 'b', [[CONTRACT, other]])
const BLOCKS = [
  block(1, 'a', [[IMPOSTOR, ours]]),
  taken,
  instead,
  block(3, 'b', [
    [CONTRACT, ours],
    [IMPOSTOR, late],
    [CONTRACT, late],
  ]),
]

function givenEvents(): ReadonlyMap<Topic, readonly EncodedEvent[]> {
  const told = BLOCKS.map((one) => executionBlockEvents(CHAIN, one, time))
  const revert = executionRevertEvent(CHAIN, taken.header, time)
  const created = {
    chain: CHAIN,
    account: 'a',
    requestId: 'ab'.repeat(32),
    pubkeys: [hexOf(ours.pubkey)],
    withdrawalCredentials: hexOf(ours.withdrawalCredentials),
    depositFrom: IMPOSTOR,
    feeRecipient: IMPOSTOR,
    amountGwei: '32000000000',
  }
  const fact = { key: ACCOUNTS_KEY, time }
  const depositDataRoots = [hexOf(depositDataRoot(ours, ours.signature))]
  const older = { ...created, requestId: 'cd'.repeat(32), pubkeys: [hexOf(late.pubkey)] }
  return new Map<Topic, readonly EncodedEvent[]>([
    [
      'accounts',
      [
        encodeEvent(validatorsCreated, { ...fact, id: 'created', data: { ...created, depositDataRoots } }),
        {
          ...fact,
          id: 'older',
          type: validatorsCreated.name,
          version: 1,
          data: new TextEncoder().encode(JSON.stringify(older)),
        },
      ],
    ],
    [
      'validators',
      [
        encodeEvent(depositContractTold, {
          id: 'contract',
          key: chainKey(CHAIN),
          time,
          data: { chain: CHAIN, address: CONTRACT },
        }),
      ],
    ],
    [
      'execution.blocks',
      [...told.slice(0, 2).flatMap(({ blocks }) => blocks), revert, ...told.slice(2).flatMap(({ blocks }) => blocks)],
    ],
    ['execution.logs', told.flatMap(({ logs }) => logs)],
  ])
}

describe('deposits', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-deposits-'))
  let eventLog: EventLog
  let warehouse: Warehouse
  let ports: Awaited<ReturnType<typeof projecting>>
  let first: Record<string, unknown[]>

  beforeAll(async () => {
    eventLog = await openSqliteEventLog({ file: join(directory, 'log.sqlite') })
    warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
    await migrate(warehouse, await readMigrations())
    for (const [topic, events] of givenEvents()) await eventLog.append(topic, events)
    ports = await projecting(eventLog, warehouse)
    await rebuildFrom(eventLog, warehouse)
    first = await dumpTables(warehouse, { versions: true })
  })

  afterAll(async () => {
    await warehouse[Symbol.asyncDispose]()
    await eventLog[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true })
  })

  it('are rows with what the log says, and the root of their data', () => {
    expect(first.dead_letters).toEqual([])
    expect(first.deposits).toHaveLength(7)
    expect(first.exit_calls).toHaveLength(BLOCKS.length)
    const [row] = first.deposits?.filter((one) => (one as { log_index: number }).log_index === 1) ?? []
    expect(row).toMatchObject({
      chain: CHAIN,
      pubkey: hexOf(ours.pubkey),
      contract: CONTRACT,
      block_hash: taken.header.hash,
      block_number: '2',
      time: new Date((TIME_SEC + 24) * 1_000).toISOString().slice(0, 19).replace('T', ' '),
      transaction_hash: hexOf(randomBytes(32, 2)),
      withdrawal_credentials: hexOf(stranger.withdrawalCredentials),
      amount_gwei: '1000000000',
      deposit_data_root: hexOf(depositDataRoot(stranger, stranger.signature)),
      deposit_index: '40',
    })
    expect(first.deposit_contracts).toMatchObject([{ chain: CHAIN, address: CONTRACT }])
    expect(first.created_validators).toMatchObject(
      [
        {
          pubkey: hexOf(ours.pubkey),
          amount_gwei: '32000000000',
          deposit_data_root: hexOf(depositDataRoot(ours, ours.signature)),
        },
        { pubkey: hexOf(late.pubkey), amount_gwei: '32000000000', deposit_data_root: '' },
      ].sort((a, b) => (a.pubkey < b.pubkey ? -1 : 1)),
    )
  })

  it.each(Array.from({ length: RUNS }, (_, run) => run + 1))(
    'are the same in whatever order the topics come, repeated and in batches of any size (run %i)',
    async (run) => {
      await emptyTables(warehouse)
      const random = randomBytes(4_096, run)
      let at = 0
      const below = (end: number): number => (random[at++ % random.length] as number) % end
      const left = await Promise.all(
        PROJECTORS.map(async (projector) => ({
          projector,
          events: await Array.fromAsync(eventLog.read({ topic: projector.topic, signal: never })),
        })),
      )
      for (;;) {
        const open = left.filter(({ events }) => events.length > 0)
        const next = open[below(Math.max(1, open.length))] as
          | { projector: Projector; events: StoredEvent[] }
          | undefined
        if (next === undefined) break
        const batch = next.events.splice(0, 1 + below(3))
        for (let times = 1 + below(2); times > 0; times--) await project(ports, next.projector, batch)
      }
      await ports.wanted.make()
      expect(await dumpTables(warehouse, { versions: true })).toEqual(first)
    },
  )
})
