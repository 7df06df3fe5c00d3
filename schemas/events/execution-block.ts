import { type Static, Type } from 'typebox'
import { jsonEvent, type Packed, packedEvent } from './codec.ts'
import { Address, Bytes, Hash, IntegerText, UInt } from './fields.ts'

export const EXECUTION_BLOCKS_KEY = 'chain'

/** A value transfer by a transaction of the block's coinbase: the evidence of a builder payment. */
const CoinbaseTransfer = Type.Object({
  transactionIndex: UInt,
  transactionHash: Hash,
  to: Type.Union([Address, Type.Null()]),
  valueWei: IntegerText,
  succeeded: Type.Boolean(),
})
export type CoinbaseTransfer = Static<typeof CoinbaseTransfer>

/** A log of a token transfer, as emitted; decoded by the NFT processors. */
const TransferLog = Type.Object({
  transactionIndex: UInt,
  transactionHash: Hash,
  logIndex: UInt,
  address: Address,
  topics: Type.Array(Hash),
  data: Bytes,
})
export type TransferLog = Static<typeof TransferLog>

const ExecutionBlockHeader = Type.Object({
  number: UInt,
  hash: Hash,
  parentHash: Hash,
  timestampSec: UInt,
  /** The header's beneficiary. */
  coinbase: Address,
  extraData: Bytes,
  baseFeePerGasWei: IntegerText,
  gasUsed: UInt,
  coinbaseTransfers: Type.Array(CoinbaseTransfer),
  transferLogs: Type.Array(TransferLog),
})
export type ExecutionBlockHeader = Static<typeof ExecutionBlockHeader>

/** One row per transaction, in order, from its receipt (failed ones included): the tips are a sum over these. */
export const EXECUTION_BLOCK_LAYOUT = {
  type: 'u8',
  succeeded: 'u8',
  gasUsed: 'u64',
  effectiveGasPriceWei: 'u64',
} as const
export type ExecutionBlockData = Packed<ExecutionBlockHeader, typeof EXECUTION_BLOCK_LAYOUT>

const ExecutionBlockRevertedData = Type.Object({ number: UInt, hash: Hash })
export type ExecutionBlockRevertedData = Static<typeof ExecutionBlockRevertedData>

/** An execution block whose receipts agree with its receipts root; id `execution.block:<hash>`. */
export const executionBlock = packedEvent(
  { name: 'execution.block', version: 1, topic: 'execution.blocks' },
  ExecutionBlockHeader,
  EXECUTION_BLOCK_LAYOUT,
)

/** A block that left the canonical chain; id `execution.block-reverted:<hash>`. */
export const executionBlockReverted = jsonEvent(
  { name: 'execution.block-reverted', version: 1, topic: 'execution.blocks' },
  ExecutionBlockRevertedData,
)
