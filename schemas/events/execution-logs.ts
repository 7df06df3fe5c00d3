import { type Static, Type } from 'typebox'
import { type ColumnsOf, DEFAULT_TOPIC_EVENT_BYTES_MAX, type Packed, packedEvent } from './codec.ts'
import { Chain, Hash, UInt } from './fields.ts'

/** The first buckets: logs of before were spread over them by their contracts. */
export const CONTRACT_BUCKETS = 16
/** Over so many others blocks are spread. */
const BLOCK_BUCKETS = 16

/** The bucket of a block: all its logs have one key. */
export function logBucket(blockNumber: number): number {
  return CONTRACT_BUCKETS + (blockNumber % BLOCK_BUCKETS)
}

/** Logs of one block in order, one row each. */
export const LOGS_LAYOUT = {
  /** Position among all logs of the block. */
  logIndex: 'u32',
  transactionIndex: 'u32',
  transactionHash: 'bytes32',
  address: 'bytes20',
  /** 32 bytes for each of up to four topics. */
  topics: 'bytes',
  data: 'bytes',
} as const
export type LogColumns = ColumnsOf<typeof LOGS_LAYOUT>

/** The same, where the data of a log too long for one event goes on in the next part: rows of one log index are its pieces. */
export const EXECUTION_LOGS_LAYOUT = {
  ...LOGS_LAYOUT,
  /** Where the row's data begins in that of its log. */
  dataOffset: 'u32',
  /** Length of the log's data. */
  dataTotal: 'u32',
} as const
export type LogPartColumns = ColumnsOf<typeof EXECUTION_LOGS_LAYOUT>

const ExecutionLogsHeader = Type.Object({
  chain: Chain,
  number: UInt,
  hash: Hash,
  timestampSec: UInt,
  /** Which of the chain's keys the event has: versions of rows are compared within it. Parts of one reading of a block are in those of contracts, or in its own. */
  bucket: UInt,
  /** 0 to `parts - 1`. */
  part: UInt,
  parts: UInt,
})
export type ExecutionLogsHeader = Static<typeof ExecutionLogsHeader>
export type ExecutionLogsData = Packed<ExecutionLogsHeader, typeof EXECUTION_LOGS_LAYOUT>

/** A part of a block's token and system logs (`KEPT_EVENTS`); key: chain and bucket, id `execution.logs:<chain>:<block hash>:<part>`. */
export const executionLogs = packedEvent(
  { name: 'execution.logs', version: 1, topic: 'execution.logs', bytesMax: DEFAULT_TOPIC_EVENT_BYTES_MAX },
  ExecutionLogsHeader,
  EXECUTION_LOGS_LAYOUT,
)
