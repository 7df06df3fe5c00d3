import { isKeptLog } from '../../schemas/eth/kept-logs.ts'
import type { ReceiptLog } from '../../schemas/eth/receipts.ts'
import type { LogsCheck } from '../../schemas/events/execution-block.ts'
import type { LogColumns } from '../../schemas/events/execution-logs.ts'
import type { ExecutionBlock } from '../ports/execution-source.ts'
import { type Binding, inconsistent, isBound, provenSenders } from './binding.ts'
import { checkLogs, checkReceiptsRoot, pairReceipts } from './check-logs.ts'
import type { NodeBlock, NodeLog, NodeReceipt } from './result-shapes.ts'
import { baseFeeWei, toldOutcomes, transactionColumns } from './transaction-columns.ts'
import { provenWithdrawals } from './withdrawals.ts'

/** How a chain's blocks are checked. */
export interface BlockRules {
  readonly binding: Binding
  readonly check: LogsCheck
}

/**
 * Reduces a block and its receipts to what rewards and NFTs need. Throws AppError: `node_inconsistent` when block, transactions and
 * receipts do not belong together (see `isBound`; other transactions, logs that the chain's check refutes, a price that contradicts its
 * transaction), `node_lagging` where the logs are still to come, `node_malformed` when they lack what a figure needs, `usage` for a
 * block of before Byzantium, whose receipts do not hash.
 */
export function toExecutionBlock(
  block: NodeBlock,
  receipts: readonly NodeReceipt[],
  rules: BlockRules,
): ExecutionBlock {
  const matchesHash = isBound(block, rules.binding)
  const executed = pairReceipts(block, receipts)
  const logs = executed.flatMap(({ receipt }, transaction) => receipt.logs.map((log) => ({ log, transaction })))
  if (rules.check === 'receipts') checkReceiptsRoot(block, executed)
  else
    checkLogs(
      block,
      receipts.flatMap((receipt) => receipt.logs),
      rules.check,
    )
  const outcomes = toldOutcomes(block, executed, rules.check)
  return {
    ...checkedHeader(block, matchesHash, rules),
    hasOutcomes: outcomes !== undefined,
    columns: transactionColumns(block, outcomes),
    logs: keptLogs(block, logs),
  }
}

/**
 * The same of a block whose receipts nobody asked for. Logs come in their order, and belong to the block that they were asked of:
 * otherwise AppError `node_inconsistent`, as for logs that the chain's check refutes.
 */
export function toExecutionBlockOfLogs(block: NodeBlock, told: readonly NodeLog[], rules: BlockRules): ExecutionBlock {
  const matchesHash = isBound(block, rules.binding)
  if (rules.check === 'receipts') throw new Error('logs alone have no receipts root')
  const logs = placedLogs(block, told)
  checkLogs(block, told, rules.check)
  return {
    ...checkedHeader(block, matchesHash, rules),
    hasOutcomes: false,
    columns: transactionColumns(block, undefined),
    logs: keptLogs(block, logs),
  }
}

function checkedHeader(block: NodeBlock, matchesHash: boolean, { check }: BlockRules) {
  return {
    header: {
      number: Number(block.number),
      hash: block.hash.toLowerCase(),
      parentHash: block.parentHash.toLowerCase(),
      timestampSec: Number(block.timestamp),
      coinbase: block.miner.toLowerCase(),
      extraData: block.extraData.toLowerCase(),
      baseFeePerGasWei: baseFeeWei(block).toString(),
      gasUsed: Number(block.gasUsed),
    },
    matchesHash,
    logsCheck: check,
    provenSenders: provenSenders(block),
    withdrawals: provenWithdrawals(block),
  }
}

interface PlacedLog {
  readonly log: ReceiptLog
  /** Index of its transaction. */
  readonly transaction: number
}

function placedLogs({ hash, transactions }: NodeBlock, logs: readonly NodeLog[]): readonly PlacedLog[] {
  let before = { index: -1, transaction: 0 }
  return logs.map((log) => {
    const place = { index: Number(log.logIndex), transaction: Number(log.transactionIndex) }
    const sender = transactions[place.transaction]?.hash.toLowerCase()
    if (log.blockHash?.toLowerCase() !== hash.toLowerCase() || log.transactionHash?.toLowerCase() !== sender) {
      throw inconsistent(`a log of block ${hash} belongs to another block or transaction`)
    }
    if (place.index <= before.index || place.transaction < before.transaction) {
      throw inconsistent(`the logs of block ${hash} are not in their order`)
    }
    before = place
    return { log, transaction: place.transaction }
  })
}

/** Logs are counted, because nothing commits to the index that a node tells. */
function keptLogs({ transactions }: NodeBlock, logs: readonly PlacedLog[]): LogColumns {
  const kept = logs.map((placed, index) => ({ ...placed, index })).filter(({ log }) => isKeptLog(log))
  return {
    logIndex: Uint32Array.from(kept, ({ index }) => index),
    transactionIndex: Uint32Array.from(kept, ({ transaction }) => transaction),
    transactionHash: ownBytes(kept.map(({ transaction }) => transactions[transaction]?.hash ?? '0x')),
    address: ownBytes(kept.map(({ log }) => log.address)),
    topics: inOneBuffer(kept.map(({ log }) => log.topics)),
    data: inOneBuffer(kept.map(({ log }) => [log.data])),
  }
}

/** The bytes of each row's pieces, one row after the other in one buffer: it goes from thread to thread as a whole. */
function inOneBuffer(rows: readonly (readonly string[])[]): readonly Uint8Array[] {
  const all = ownBytes(rows.flat())
  let end = 0
  return rows.map((pieces) => {
    const begin = end
    for (const { length } of pieces) end += (length - 2) / 2
    return all.subarray(begin, end)
  })
}

/** The bytes of all, in a buffer of their own: those of Node's pool cannot go to another thread. */
function ownBytes(pieces: readonly string[]): Uint8Array {
  const digits = pieces.map((piece) => piece.slice(2)).join('')
  const bytes = new Uint8Array(digits.length / 2)
  Buffer.from(bytes.buffer).write(digits, 'hex')
  return bytes
}
