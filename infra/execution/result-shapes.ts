import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { malformed } from '../nodes/json.ts'

// Results of the JSON-RPC API (ethereum/execution-apis), as far as they are read. Hex is of either case.

/** Any uint256. */
export const Quantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,64}$' })
/** A number that stays exact in JavaScript. */
export const SmallQuantity = Type.String({ pattern: '^0x[0-9a-fA-F]{1,13}$' })
export const Gas = Type.String({ pattern: '^0x[0-9a-fA-F]{1,16}$' })
/** One byte: EIP-2718 has types to 0x7f, layers above it more. */
const TransactionType = Type.String({ pattern: '^0x[0-9a-fA-F]{1,2}$' })
export const Hash = Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' })
export const Address = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })
/** Of a proof of work, whose field stayed. */
const Nonce = Type.String({ pattern: '^0x[0-9a-fA-F]{16}$' })
const Bloom = Type.String({ pattern: '^0x[0-9a-fA-F]{512}$' })
/** Its digits are checked by `isHexBytes`: a pattern would go back and forth over megabytes of them. */
const Bytes = Type.String()
export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(orNull(schema))

const AccessList = Type.Array(Type.Object({ address: Address, storageKeys: Type.Array(Hash) }))
/** EIP-7702: any of its numbers may be as large as the sender likes. */
const Authorizations = Type.Array(
  Type.Object({ chainId: Quantity, address: Address, nonce: Quantity, yParity: Quantity, r: Quantity, s: Quantity }),
)

/** All that the hash of a transaction is taken of. Types of other layers have some of it, and fields of their own. */
const Transaction = Type.Object({
  hash: Hash,
  from: Address,
  to: optional(Address),
  value: Quantity,
  type: Type.Optional(TransactionType),
  chainId: optional(Quantity),
  nonce: optional(Quantity),
  gas: optional(Quantity),
  gasPrice: optional(Quantity),
  maxFeePerGas: optional(Quantity),
  maxPriorityFeePerGas: optional(Quantity),
  maxFeePerBlobGas: optional(Quantity),
  input: optional(Bytes),
  accessList: optional(AccessList),
  blobVersionedHashes: optional(Type.Array(Hash)),
  authorizationList: optional(Authorizations),
  v: optional(Quantity),
  r: optional(Quantity),
  s: optional(Quantity),
  yParity: optional(Quantity),
})

const reference = { number: SmallQuantity, hash: Hash, parentHash: Hash }
const Reference = Type.Object(reference)
export type NodeReference = Static<typeof Reference>

/** All that the block hash is taken of, and the transactions. */
const Block = Type.Object({
  ...reference,
  sha3Uncles: Hash,
  miner: Address,
  stateRoot: Hash,
  transactionsRoot: Hash,
  receiptsRoot: Hash,
  logsBloom: Bloom,
  difficulty: Quantity,
  gasLimit: Quantity,
  gasUsed: SmallQuantity,
  timestamp: SmallQuantity,
  extraData: Bytes,
  mixHash: Hash,
  nonce: Nonce,
  baseFeePerGas: optional(Quantity),
  withdrawalsRoot: optional(Hash),
  blobGasUsed: optional(Quantity),
  excessBlobGas: optional(Quantity),
  parentBeaconBlockRoot: optional(Hash),
  requestsHash: optional(Hash),
  transactions: Type.Array(Transaction),
  withdrawals: optional(Type.Array(Type.Object({ index: Gas, validatorIndex: Gas, address: Address, amount: Gas }))),
})
/** A block with its transactions, as it comes over JSON-RPC. */
export type NodeBlock = Static<typeof Block>
export type NodeTransaction = Static<typeof Transaction>

const TOPICS_MAX = 4

const logFields = { address: Address, topics: Type.Array(Hash, { maxItems: TOPICS_MAX }), data: Bytes }

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
  logs: Type.Array(Type.Object(logFields)),
  depositNonce: optional(Gas),
  depositReceiptVersion: optional(Gas),
})
export type NodeReceipt = Static<typeof Receipt>

/** A log by itself: what names its place is null while its block is pending. */
const Log = Type.Object({
  ...logFields,
  blockHash: orNull(Hash),
  transactionHash: orNull(Hash),
  transactionIndex: orNull(SmallQuantity),
  logIndex: orNull(SmallQuantity),
})
export type NodeLog = Static<typeof Log>

const isBalance = Compile(Quantity)
const isChainId = Compile(SmallQuantity)
const isReference = Compile(orNull(Reference))
const isBlock = Compile(orNull(Block))
const isReceipt = Compile(orNull(Receipt))
const isLogs = Compile(orNull(Type.Array(Log)))
const isReceipts = Compile(orNull(Type.Array(Receipt)))

/** A call whose result is of a known shape. */
export interface Question<Result> {
  readonly method: string
  readonly params: readonly unknown[]
  /** Throws AppError `node_malformed` for a result of another shape. */
  parse(result: unknown): Result
}

type IsOfShape<Result> = (result: unknown) => result is Result

/** Asks for a result of this shape; `misshapen` is what is said of another. */
export function question<Result>(
  method: string,
  params: readonly unknown[],
  isOfShape: IsOfShape<Result>,
  misshapen = `the result of ${method} is not of the documented shape`,
): Question<Result> {
  return {
    method,
    params,
    parse(result) {
      if (isOfShape(result)) return result
      throw malformed(misshapen)
    },
  }
}

export const chainIdQuestion: Question<string> = question('eth_chainId', [], (result) => isChainId.Check(result))

/** What names the block of a tag; null where the node has none. */
export function referenceQuestion(tag: 'latest' | 'finalized'): Question<NodeReference | null> {
  return question('eth_getBlockByNumber', [tag, false], (result) => isReference.Check(result))
}

/** Which block, by a hash or by a number as a quantity. */
export interface BlockName {
  readonly by: 'Hash' | 'Number'
  readonly id: string
}

/** A block with its transactions; null where the node has none. */
export function blockQuestion({ by, id }: BlockName): Question<NodeBlock | null> {
  return question(`eth_getBlockBy${by}`, [id, true], (result): result is NodeBlock | null => {
    return isBlock.Check(result) && (result === null || hasHexInput(result))
  })
}

/** The receipts of a block; null where the node has none. */
export function receiptsQuestion({ id }: BlockName): Question<NodeReceipt[] | null> {
  return question('eth_getBlockReceipts', [id], (result): result is NodeReceipt[] | null => {
    return isReceipts.Check(result) && (result === null || result.every(hasHexLogs))
  })
}

/** The receipt of one transaction; null where the node has none. */
export function receiptQuestion(transactionHash: string): Question<NodeReceipt | null> {
  return question('eth_getTransactionReceipt', [transactionHash], (result): result is NodeReceipt | null => {
    return isReceipt.Check(result) && (result === null || hasHexLogs(result))
  })
}

/** All logs of a block, by its hash alone: a number would be that of whatever block the node has there. */
export function logsQuestion(blockHash: string): Question<NodeLog[] | null> {
  return question('eth_getLogs', [{ blockHash }], (result): result is NodeLog[] | null => {
    return isLogs.Check(result) && (result === null || hasHexData(result))
  })
}

/** An address's balance after a block, which is named by its hash: a number would be that of whatever block the node has there. */
export function balanceQuestion(address: string, blockHash: string): Question<string> {
  return question('eth_getBalance', [address, { blockHash }], (result): result is string => isBalance.Check(result))
}

function hasHexInput({ extraData, transactions }: NodeBlock): boolean {
  return isHexBytes(extraData) && transactions.every(({ input }) => isHexBytes(input ?? '0x'))
}

function hasHexLogs({ logs }: NodeReceipt): boolean {
  return hasHexData(logs)
}

function hasHexData(logs: readonly { readonly data: string }[]): boolean {
  return logs.every(({ data }) => isHexBytes(data))
}

const NOT_HEX = /[^0-9a-fA-F]/

/** Of any length, in either case. */
export function isHexBytes(text: string): boolean {
  return text.length % 2 === 0 && text.startsWith('0x') && !NOT_HEX.test(text.slice(2))
}
