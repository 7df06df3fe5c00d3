import { keccak256, toBytes } from 'viem'
import type { MinedTransaction } from '../../infra/devnet/execution/sealed-block.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import type { CommittedReceipt } from '../../schemas/eth/receipts.ts'
import { encodeRlp, rlpInteger } from '../../schemas/eth/rlp.ts'

export interface RpcBlock {
  readonly [field: string]: unknown
  readonly hash: Hex
  readonly number: Hex
  readonly miner: Hex
  readonly extraData: Hex
  readonly transactions: readonly (MinedTransaction & { readonly blockHash: Hex })[]
}

export interface RpcReceipt {
  readonly type: Hex
  readonly status: Hex
  readonly to: Hex | null
  readonly blockHash: Hex
  readonly cumulativeGasUsed: Hex
  readonly gasUsed: Hex
  readonly transactionHash: Hex
  readonly logs: readonly {
    readonly address: Hex
    readonly topics: readonly Hex[]
    readonly data: Hex
    readonly blockHash: Hex
  }[]
}

/** The header's fields in RLP order, from the JSON alone; those of later forks where they are. */
export function headerHash(block: Readonly<Record<string, unknown>>): Hex {
  const data = ['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom']
  const field = (name: string) => (typeof block[name] === 'string' ? [toBytes(block[name] as Hex)] : [])
  const quantity = (name: string) => (typeof block[name] === 'string' ? [rlpInteger(BigInt(block[name] as Hex))] : [])
  return keccak256(
    encodeRlp([
      ...data.flatMap(field),
      ...['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'].flatMap(quantity),
      ...['extraData', 'mixHash', 'nonce'].flatMap(field),
      ...quantity('baseFeePerGas'),
      ...field('withdrawalsRoot'),
      ...['blobGasUsed', 'excessBlobGas'].flatMap(quantity),
      ...['parentBeaconBlockRoot', 'requestsHash'].flatMap(field),
    ]),
  )
}

export function toCommitted(receipt: RpcReceipt): CommittedReceipt {
  return {
    type: Number(receipt.type),
    status: receipt.status === '0x1' ? 'success' : 'reverted',
    cumulativeGasUsed: BigInt(receipt.cumulativeGasUsed),
    logs: receipt.logs,
  }
}
