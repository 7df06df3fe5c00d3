import { type Static, Type } from 'typebox'
import { type ColumnsOf, type EventType, jsonEvent, olderJson, olderPacked, type Packed, packedEvent } from './codec.ts'
import { Address, Bytes, Chain, Hash, IntegerText, UInt } from './fields.ts'

export const ADDRESS_BYTES = 20
export const HASH_BYTES = 32

const BlockFields = {
  number: UInt,
  hash: Hash,
  parentHash: Hash,
  timestampSec: UInt,
  /** The header's beneficiary. */
  coinbase: Address,
  extraData: Bytes,
  /** 0 on chains without a base fee. */
  baseFeePerGasWei: IntegerText,
  gasUsed: UInt,
}
export type ExecutionHeaderFields = Static<ReturnType<typeof Type.Object<typeof BlockFields>>>

/**
 * What a block's logs were checked against, strongest first. `receipts`: the header's receipts root, which proves them. `bloom`: the
 * header's bloom, which they make exactly; data, order and what is emitted twice are the node's word. `none`: nothing.
 */
export const LOGS_CHECKS = ['receipts', 'bloom', 'none'] as const
export type LogsCheck = (typeof LOGS_CHECKS)[number]

const HeaderV2 = Type.Object({
  chain: Chain,
  ...BlockFields,
  /** How many events of `execution.logs` hold the block's logs: the logs are complete when that many are there. */
  logParts: UInt,
  /** Whether header and transactions are those that the hash commits to; absent where nobody checked, in logs of earlier releases. */
  matchesHash: Type.Optional(Type.Boolean()),
})

const HeaderV3 = Type.Object({
  ...HeaderV2.properties,
  logsCheck: Type.Enum([...LOGS_CHECKS]),
  /**
   * Whether the columns tell what became of the transactions. Where nobody asked for receipts, or they do not tell, `succeeded`,
   * `gasUsed` and `effectiveGasPriceWei` are zeros that mean nothing, and new contracts have no address.
   */
  hasOutcomes: Type.Boolean(),
})

const ExecutionBlockHeader = Type.Object({
  ...HeaderV3.properties,
  /**
   * Positions of the transactions whose senders are proven by their signatures: the last ones, and those that the coinbase seems to
   * have sent value with. Who sent the others is the node's word.
   */
  provenSenders: Type.Array(UInt),
})
export type ExecutionBlockHeader = Static<typeof ExecutionBlockHeader>

/** One row per transaction, in order, with its receipt (failed ones included): the tips are a sum over these. */
export const EXECUTION_BLOCK_LAYOUT = {
  type: 'u8',
  succeeded: 'u8',
  gasUsed: 'u64',
  effectiveGasPriceWei: 'u256',
  /** Who signed it, where the header names the transaction in `provenSenders`; of the others, who the node says did: no payment is proven by them. */
  sender: 'bytes20',
  /** Whom the transaction is for; of a creation the new contract, zeros where it failed. */
  recipient: 'bytes20',
  isCreation: 'u8',
  valueWei: 'u256',
  hash: 'bytes32',
} as const
export type TransactionColumns = ColumnsOf<typeof EXECUTION_BLOCK_LAYOUT>

/** A value transfer by a transaction of the block's coinbase, as version 1 has it. */
const CoinbaseTransfer = Type.Object({
  transactionIndex: UInt,
  transactionHash: Hash,
  /** Null for a creation: a new contract is nobody that was paid. */
  to: Type.Union([Address, Type.Null()]),
  valueWei: IntegerText,
  succeeded: Type.Boolean(),
})
export type CoinbaseTransfer = Static<typeof CoinbaseTransfer>

const TransferLog = Type.Object({
  transactionIndex: UInt,
  transactionHash: Hash,
  logIndex: UInt,
  address: Address,
  topics: Type.Array(Hash),
  data: Bytes,
})

const HeaderV1 = Type.Object({
  ...BlockFields,
  coinbaseTransfers: Type.Array(CoinbaseTransfer),
  transferLogs: Type.Array(TransferLog),
})
type HeaderV1 = Static<typeof HeaderV1>
const LAYOUT_V1 = { type: 'u8', succeeded: 'u8', gasUsed: 'u64', effectiveGasPriceWei: 'u64' } as const

/** A block as it is written; versions 2 and 3 have no `provenSenders`, and of them the sender of the last transaction alone is proven. */
export interface WholeExecutionBlock
  extends Packed<
    Omit<ExecutionBlockHeader, 'provenSenders'> & { readonly provenSenders?: readonly number[] },
    typeof EXECUTION_BLOCK_LAYOUT
  > {
  readonly earlier?: undefined
}

/** A block of version 1: of its transactions only receipts and coinbase transfers are known, and no event has its logs. */
export interface EarlierExecutionBlock {
  readonly header: Omit<ExecutionBlockHeader, 'logParts' | 'provenSenders'> & { readonly logParts?: undefined }
  readonly columns: Pick<TransactionColumns, 'type' | 'succeeded' | 'gasUsed' | 'effectiveGasPriceWei'>
  /** Transfer logs of ERC-721 with 4 topics, ERC-1155 and ERC-2309, and no others. */
  readonly earlier: Pick<HeaderV1, 'coinbaseTransfers' | 'transferLogs'>
}

export type ExecutionBlockData = WholeExecutionBlock | EarlierExecutionBlock

/** Versions 1 and 2 were written of blocks with all their receipts, which agreed with the receipts root. */
const CHECKED_BEFORE = { logsCheck: 'receipts', hasOutcomes: true } as const

function fromV1({ header, columns }: Packed<HeaderV1, typeof LAYOUT_V1>, chain: string): EarlierExecutionBlock {
  const { coinbaseTransfers, transferLogs, ...fields } = header
  return {
    header: { chain, ...fields, ...CHECKED_BEFORE },
    columns: { ...columns, effectiveGasPriceWei: Array.from(columns.effectiveGasPriceWei) },
    earlier: { coinbaseTransfers, transferLogs },
  }
}

function fromV2({
  header,
  columns,
}: Packed<Static<typeof HeaderV2>, typeof EXECUTION_BLOCK_LAYOUT>): WholeExecutionBlock {
  return { header: { ...header, ...CHECKED_BEFORE }, columns }
}

/**
 * An execution block, whose logs agree with what its chain lets them be checked against (`logsCheck`); key: chain and hash, id `execution.block:<chain>:<hash>`.
 * A row has at most 147 bytes: 7,000 transactions stay below Kafka's default message size, whatever is in them, and our topics
 * take sixteen times as much.
 */
export const executionBlock: EventType<'execution.block', ExecutionBlockData> = {
  ...packedEvent(
    { name: 'execution.block', version: 4, topic: 'execution.blocks' },
    ExecutionBlockHeader,
    EXECUTION_BLOCK_LAYOUT,
  ),
  older: {
    1: olderPacked({ header: HeaderV1, layout: LAYOUT_V1 }, fromV1),
    2: olderPacked({ header: HeaderV2, layout: EXECUTION_BLOCK_LAYOUT }, fromV2),
    3: olderPacked({ header: HeaderV3, layout: EXECUTION_BLOCK_LAYOUT }, (data): WholeExecutionBlock => data),
  },
}

const RevertedFields = { number: UInt, hash: Hash }
const ExecutionBlockRevertedData = Type.Object({ chain: Chain, ...RevertedFields })
export type ExecutionBlockRevertedData = Static<typeof ExecutionBlockRevertedData>

/** A block that left the canonical chain; key: chain and hash, id `execution.block-reverted:<chain>:<hash>`. */
export const executionBlockReverted = jsonEvent(
  { name: 'execution.block-reverted', version: 2, topic: 'execution.blocks' },
  ExecutionBlockRevertedData,
  { 1: olderJson(Type.Object(RevertedFields), (data, chain) => ({ chain, ...data })) },
)
