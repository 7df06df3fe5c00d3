import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { AppError } from '../../schemas/errors.ts'

// Results of the JSON-RPC API (ethereum/execution-apis), as far as they are read. Hex is of either case.

/** Any uint256. */
const Quantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,64}$' })
/** A number that stays exact in JavaScript. */
const SmallQuantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,13}$' })
const Gas = Type.String({ pattern: '^0x[0-9a-fA-F]{1,16}$' })
/** One byte: EIP-2718 has types to 0x7f, layers above it more. */
const TransactionType = Type.String({ pattern: '^0x[0-9a-fA-F]{1,2}$' })
const Hash = Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' })
const Address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
const Bloom = Type.String({ pattern: '^0x[0-9a-fA-F]{512}$' })
/** Its digits are checked by `isHexBytes`: a pattern would go back and forth over megabytes of them. */
const Bytes = Type.String()
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(orNull(schema))

const Transaction = Type.Object({
  hash: Hash,
  from: Address,
  to: optional(Address),
  value: Quantity,
  type: Type.Optional(TransactionType),
  gasPrice: optional(Quantity),
  maxFeePerGas: optional(Quantity),
  maxPriorityFeePerGas: optional(Quantity),
})

const reference = { number: SmallQuantity, hash: Hash, parentHash: Hash }

const Block = Type.Object({
  ...reference,
  timestamp: SmallQuantity,
  miner: Address,
  extraData: Bytes,
  baseFeePerGas: optional(Quantity),
  gasUsed: SmallQuantity,
  receiptsRoot: Hash,
  transactions: Type.Array(Transaction),
})

const TOPICS_MAX = 4

const Receipt = Type.Object({
  transactionHash: Hash,
  type: Type.Optional(TransactionType),
  /** Missing before Byzantium. */
  status: optional(Type.Union([Type.Literal('0x0'), Type.Literal('0x1')])),
  cumulativeGasUsed: Gas,
  gasUsed: Gas,
  /** Missing before London on some nodes. */
  effectiveGasPrice: optional(Quantity),
  contractAddress: optional(Address),
  logsBloom: Bloom,
  logs: Type.Array(Type.Object({ address: Address, topics: Type.Array(Hash, { maxItems: TOPICS_MAX }), data: Bytes })),
  depositNonce: optional(Gas),
  depositReceiptVersion: optional(Gas),
})
type Receipt = Type.Static<typeof Receipt>

const isChainId = Compile(SmallQuantity)
const isReference = Compile(orNull(Type.Object(reference)))
const isBlock = Compile(orNull(Block))
const isReceipt = Compile(orNull(Receipt))
const isReceipts = Compile(orNull(Type.Array(Receipt)))

/** Throws AppError `node_malformed` when the result of a method is not of its shape; null stands for what the node does not have. */
export function checkResult(method: string, params: readonly unknown[], result: unknown): void {
  if (isOfShape(method, params, result)) return
  throw new AppError('node_malformed', `the result of ${method} is not of the documented shape`, { retryable: true })
}

function isOfShape(method: string, params: readonly unknown[], result: unknown): boolean {
  switch (method) {
    case 'eth_chainId':
      return isChainId.Check(result)
    case 'eth_getBlockByHash':
    case 'eth_getBlockByNumber':
      if (params[1] !== true) return isReference.Check(result)
      return isBlock.Check(result) && isHexBytes(result?.extraData ?? '0x')
    case 'eth_getTransactionReceipt':
      return isReceipt.Check(result) && (result === null || hasHexLogs(result))
    case 'eth_getBlockReceipts':
      return isReceipts.Check(result) && (result === null || result.every(hasHexLogs))
    default:
      return false
  }
}

function hasHexLogs({ logs }: Receipt): boolean {
  return logs.every(({ data }) => isHexBytes(data))
}

const NOT_HEX = /[^0-9a-fA-F]/

function isHexBytes(text: string): boolean {
  return text.length % 2 === 0 && text.startsWith('0x') && !NOT_HEX.test(text.slice(2))
}
