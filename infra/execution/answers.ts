import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { malformed } from '../beacon/answers.ts'

// Blocks and receipts of the JSON-RPC API (ethereum/execution-apis), as far as they are read. Hex is of either case.

const Quantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,64}$' })
const Hash = Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' })
const Address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
const Bytes = Type.String({ pattern: '^0x([0-9a-fA-F]{2})*$' })
const OptionalQuantity = Type.Optional(Type.Union([Quantity, Type.Null()]))

const RpcTransaction = Type.Object({
  hash: Hash,
  from: Address,
  to: Type.Optional(Type.Union([Address, Type.Null()])),
  value: Quantity,
  type: Type.Optional(Quantity),
  gasPrice: OptionalQuantity,
  maxFeePerGas: OptionalQuantity,
  maxPriorityFeePerGas: OptionalQuantity,
})
export type RpcTransaction = Static<typeof RpcTransaction>

const RpcBlock = Type.Object({
  number: Quantity,
  hash: Hash,
  parentHash: Hash,
  timestamp: Quantity,
  miner: Address,
  extraData: Bytes,
  baseFeePerGas: OptionalQuantity,
  gasUsed: Quantity,
  receiptsRoot: Hash,
  transactions: Type.Array(RpcTransaction),
})
export type RpcBlock = Static<typeof RpcBlock>

const RpcLog = Type.Object({
  address: Address,
  topics: Type.Array(Hash),
  data: Bytes,
  logIndex: Quantity,
})
export type RpcLog = Static<typeof RpcLog>

const RpcReceipt = Type.Object({
  transactionHash: Hash,
  type: Type.Optional(Quantity),
  status: Type.Union([Type.Literal('0x0'), Type.Literal('0x1')]),
  cumulativeGasUsed: Quantity,
  gasUsed: Quantity,
  effectiveGasPrice: Quantity,
  logsBloom: Bytes,
  logs: Type.Array(RpcLog),
})
export type RpcReceipt = Static<typeof RpcReceipt>

const isBlock = Compile(RpcBlock)
const isReceipts = Compile(Type.Array(RpcReceipt))

/** Checks a result of eth_getBlockByHash with full transactions; throws AppError `node_malformed`. */
export function parseBlock(value: unknown): RpcBlock {
  if (isBlock.Check(value)) return value
  throw malformed('the execution block is not of the documented shape')
}

/** Checks a result of eth_getBlockReceipts; throws AppError `node_malformed`. */
export function parseReceipts(value: unknown): readonly RpcReceipt[] {
  if (isReceipts.Check(value)) return value
  throw malformed('the receipts are not of the documented shape')
}

const Failure = Type.Object({ code: Type.Number(), message: Type.String() })
const isAnswers = Compile(
  Type.Array(Type.Object({ id: Type.Number(), result: Type.Optional(Type.Unknown()), error: Type.Optional(Failure) })),
)
export type RpcAnswer =
  | { readonly status: 'result'; readonly result: unknown }
  | { readonly status: 'error'; readonly code: number; readonly message: string }

/** Brings the answers of a batch into the order of its questions, whose ids are 0 to count - 1; every one must be there. */
export function parseBatch(value: unknown, count: number): readonly RpcAnswer[] {
  const list = Array.isArray(value) ? value : [value]
  if (!isAnswers.Check(list)) throw malformed('the JSON-RPC answer is not of the documented shape')
  return Array.from({ length: count }, (_, id): RpcAnswer => {
    const answer = list.find((candidate) => candidate.id === id)
    if (answer === undefined) throw malformed('the JSON-RPC answer lacks a part of the batch')
    const { error, result } = answer
    if (error !== undefined) return { status: 'error', ...error }
    if (result === undefined) throw malformed('the JSON-RPC answer has neither result nor error')
    return { status: 'result', result }
  })
}
