import { keccak256, toBytes } from 'viem'
import type { Hex } from '../../infra/devnet/engine.ts'
import type { RpcTransaction } from '../../infra/devnet/execution/raw-transaction.ts'
import type { CommittedReceipt } from '../../schemas/eth/receipts.ts'
import { encodeRlp, rlpInteger } from '../../schemas/eth/trie.ts'

export interface RpcBlock {
  readonly [field: string]: unknown
  readonly hash: Hex
  readonly number: Hex
  readonly miner: Hex
  readonly extraData: Hex
  readonly transactions: readonly (RpcTransaction & { readonly blockHash: Hex })[]
}

export interface RpcReceipt {
  readonly type: Hex
  readonly status: Hex
  readonly blockHash: Hex
  readonly cumulativeGasUsed: Hex
  readonly transactionHash: Hex
  readonly logs: readonly {
    readonly address: Hex
    readonly topics: readonly Hex[]
    readonly data: Hex
    readonly blockHash: Hex
  }[]
}

/** The header's fields in RLP order, from the JSON alone. */
export function headerHash(block: RpcBlock): Hex {
  const data = ['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom']
  const field = (name: string) => toBytes(block[name] as Hex)
  const quantity = (name: string) => rlpInteger(BigInt(block[name] as Hex))
  return keccak256(
    encodeRlp([
      ...data.map(field),
      ...['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'].map(quantity),
      ...['extraData', 'mixHash', 'nonce'].map(field),
      quantity('baseFeePerGas'),
      field('withdrawalsRoot'),
      ...['blobGasUsed', 'excessBlobGas'].map(quantity),
      ...['parentBeaconBlockRoot', 'requestsHash'].map(field),
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
