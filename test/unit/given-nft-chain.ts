import type { Address } from 'viem'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { executionBlockEvents, executionRevertEvent } from '../../ingest/execution/block-events.ts'
import type { Projector } from '../../processors/loop/consume.ts'
import { joinRows } from '../../processors/loop/rows.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import type { RawLog } from '../../schemas/eth/nft-transfers.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import type { LogsCheck } from '../../schemas/events/execution-block.ts'
import { type GivenTransaction, transactionColumns } from './execution-columns.ts'
import { ABI, logOf } from './given-nft-log.ts'

// A chain of blocks in which tokens move, told to the tables as the log's events.

export const NOBODY: Address = `0x${'00'.repeat(20)}`
/** Its tokens are one of a kind. */
export const ART: Address = `0x${'01'.repeat(20)}`
/** Of its tokens there are many. */
export const COINS: Address = `0x${'02'.repeat(20)}`
const TIME = '2026-01-01T00:00:00.000Z'
const ZERO_HASH = `0x${'00'.repeat(32)}`

/** One thing that happens: of COINS with an amount, of other contracts without. */
export interface Move {
  readonly contract: Address
  readonly from: Address
  readonly to: Address
  readonly id: bigint
  readonly amount: bigint
  /** Who has sent the transaction; nobody unless told. */
  readonly sender?: Address
}

/** A log, by its contract and the place of its transaction. */
export interface GivenLog {
  readonly contract: Address
  readonly transaction: number
  readonly log: RawLog
}

export interface Block {
  readonly number: number
  readonly hash: string
  readonly parent: Block | undefined
  readonly moves: readonly Move[]
  /** In the moves' stead. */
  readonly logs?: readonly GivenLog[]
  /** The receipts root unless told. */
  readonly logsCheck?: LogsCheck
}

function logOfMove({ contract, from, to, id, amount }: Move, transaction: number): GivenLog {
  const log =
    contract === COINS
      ? logOf(ABI, 'TransferBatch', { operator: from, from, to, ids: [id], values: [amount] })
      : logOf(ABI, 'Transfer', { from, to, tokenId: id })
  return { contract, transaction, log }
}

/** Each move is a transaction of its own. */
export function eventsOf(
  { number, hash, parent, moves, logs = moves.map(logOfMove), logsCheck = 'receipts' }: Block,
  chain: string,
): readonly EncodedEvent[] {
  const header = {
    number,
    hash,
    parentHash: parent?.hash ?? ZERO_HASH,
    timestampSec: timeOf(number),
    coinbase: NOBODY,
    extraData: '0x',
    baseFeePerGasWei: '0',
    gasUsed: 0,
  }
  const columns = {
    logIndex: Uint32Array.from(logs, (_, i) => i),
    transactionIndex: Uint32Array.from(logs, ({ transaction }) => transaction),
    transactionHash: new Uint8Array(logs.length * 32),
    address: new Uint8Array(Buffer.concat(logs.map(({ contract }) => bytesOf(contract)))),
    topics: logs.map(({ log }) => log.topics),
    data: logs.map(({ log }) => log.data),
  }
  const transactions = moves.map(({ sender }): GivenTransaction => (sender === undefined ? {} : { sender }))
  const block = {
    header,
    matchesHash: true,
    logsCheck,
    hasOutcomes: true,
    provenSenders: [],
    withdrawals: [],
    columns: transactionColumns(transactions),
    logs: columns,
  }
  const events = executionBlockEvents(chain, block, TIME)
  return [...events.logs, ...events.blocks]
}

export const timeOf = (number: number): number => 1_700_000_000 + 12 * number

let offset = 0n

/** Puts what the events become into the tables, one topic after the other. `afterInsert` is what happens between two inserts. */
export async function tell(
  warehouse: Warehouse,
  events: readonly EncodedEvent[],
  { chain, afterInsert }: { readonly chain: string; readonly afterInsert?: () => Promise<unknown> },
): Promise<void> {
  const topicOf = ({ type }: EncodedEvent) => (type === 'execution.logs' ? type : 'execution.blocks')
  for (const [topic, ofTopic] of Map.groupBy(events, topicOf)) {
    const projector = PROJECTORS.find((one) => one.topic === topic) as Projector
    const stored = ofTopic.map((event): StoredEvent => ({ position: { partition: 0, offset: offset++ }, event }))
    const rows = stored.flatMap((event) => projector.project(event, chain).rows)
    for (const { table, columns } of joinRows(rows, projector.lastTable)) {
      await warehouse.insert(table, columns)
      await afterInsert?.()
    }
  }
}

export const revertOf = ({ number, hash }: Block, chain: string): EncodedEvent =>
  executionRevertEvent(chain, { number, hash }, TIME)

/** The blocks up to one, the first one first. */
export function chainOf(block: Block | undefined): readonly Block[] {
  return block === undefined ? [] : [...chainOf(block.parent), block]
}

let hashes = 0

export function blockOn(parent: Block | undefined, moves: readonly Move[], number = (parent?.number ?? 0) + 1): Block {
  // With a letter in each: they may be written in either case.
  return { number, hash: `0xb${(++hashes).toString(16).padStart(63, '0')}`, parent, moves }
}
