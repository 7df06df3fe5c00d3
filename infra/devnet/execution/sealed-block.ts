import type { deneb } from '@lodestar/types'
import { type ExecutionHeader, encodeHeader } from '../../../schemas/eth/header.ts'
import { bytesOf, type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import { keccak256 } from '../../../schemas/eth/keccak.ts'
import { encodeRlp, rlpInteger } from '../../../schemas/eth/rlp.ts'
import { encodeTransaction, type SignedTransaction } from '../../../schemas/eth/signed-transaction.ts'
import { orderedTrieRoot } from '../../../schemas/eth/trie.ts'
import type { EngineWithdrawal } from '../engine.ts'

export interface MinedTransaction extends SignedTransaction {
  readonly hash: Hex
  readonly from: Hex
}

/** The part of a block that comes out of execution: what anvil's block tells us. */
export interface ExecutedBlock {
  readonly number: Hex
  readonly stateRoot: Hex
  readonly receiptsRoot: Hex
  readonly logsBloom: Hex
  readonly gasLimit: Hex
  readonly gasUsed: Hex
  readonly baseFeePerGas: Hex
  readonly blobGasUsed: Hex
  readonly excessBlobGas: Hex
  readonly transactions: readonly MinedTransaction[]
}

/** The part that the consensus side decides. */
export interface SealFacts {
  readonly parentHash: Hex
  readonly coinbase: Hex
  readonly timestampSec: number
  readonly prevRandao: Hex
  readonly parentBeaconBlockRoot: Hex
  readonly extraData: Uint8Array
  readonly withdrawals: readonly EngineWithdrawal[]
  readonly requestsHash: Uint8Array
}

export interface SealedBlock {
  readonly hash: Hex
  readonly payload: deneb.ExecutionPayload
  /** The JSON-RPC object's fields, without `transactions`. */
  readonly header: Readonly<Record<string, unknown>>
}

// keccak256(rlp([])): no block has uncles since the merge.
const EMPTY_UNCLES_HASH: Hex = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const ZERO_NONCE: Hex = '0x0000000000000000'

function quantityHex(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}

/** A withdrawal as it stands in the withdrawals trie (EIP-4895); the amount is in gwei. */
function encodeWithdrawal(withdrawal: EngineWithdrawal): Uint8Array {
  return encodeRlp([
    rlpInteger(withdrawal.index),
    rlpInteger(withdrawal.validatorIndex),
    bytesOf(withdrawal.address),
    rlpInteger(withdrawal.amountGwei),
  ])
}

function toPayload(executed: ExecutedBlock, facts: SealFacts, rawTransactions: Uint8Array[], hash: Uint8Array) {
  return {
    parentHash: bytesOf(facts.parentHash),
    feeRecipient: bytesOf(facts.coinbase),
    stateRoot: bytesOf(executed.stateRoot),
    receiptsRoot: bytesOf(executed.receiptsRoot),
    logsBloom: bytesOf(executed.logsBloom),
    prevRandao: bytesOf(facts.prevRandao),
    blockNumber: Number(executed.number),
    gasLimit: Number(executed.gasLimit),
    gasUsed: Number(executed.gasUsed),
    timestamp: facts.timestampSec,
    extraData: facts.extraData,
    baseFeePerGas: BigInt(executed.baseFeePerGas),
    blockHash: hash,
    transactions: rawTransactions,
    withdrawals: facts.withdrawals.map((withdrawal) => ({
      index: withdrawal.index,
      validatorIndex: withdrawal.validatorIndex,
      address: bytesOf(withdrawal.address),
      amount: withdrawal.amountGwei,
    })),
    blobGasUsed: BigInt(executed.blobGasUsed),
    excessBlobGas: BigInt(executed.excessBlobGas),
  } satisfies deneb.ExecutionPayload
}

/**
 * Puts what the consensus side decides around what anvil executed: a header of our own with its hash, the payload in the
 * beacon block's terms and the JSON-RPC fields. Anvil's own hash is used nowhere outside of it.
 */
export function sealBlock(executed: ExecutedBlock, facts: SealFacts): SealedBlock {
  const encodedWithdrawals = facts.withdrawals.map(encodeWithdrawal)
  const withdrawalsRoot = orderedTrieRoot(encodedWithdrawals)
  const rawTransactions = executed.transactions.map(encodeTransaction)
  // anvil's own root is over transactions without signatures, and with their blobs, which are no part of a block (EIP-4844).
  const transactionsRoot = hexOf(orderedTrieRoot(rawTransactions))
  const bodyBytes = [...rawTransactions, ...encodedWithdrawals].reduce((sum, item) => sum + item.length, 0)
  const committed: ExecutionHeader = {
    number: executed.number,
    parentHash: facts.parentHash,
    sha3Uncles: EMPTY_UNCLES_HASH,
    miner: facts.coinbase,
    stateRoot: executed.stateRoot,
    transactionsRoot,
    receiptsRoot: executed.receiptsRoot,
    logsBloom: executed.logsBloom,
    difficulty: '0x0',
    gasLimit: executed.gasLimit,
    gasUsed: executed.gasUsed,
    timestamp: quantityHex(facts.timestampSec),
    extraData: hexOf(facts.extraData),
    mixHash: facts.prevRandao,
    nonce: ZERO_NONCE,
    baseFeePerGas: executed.baseFeePerGas,
    withdrawalsRoot: hexOf(withdrawalsRoot),
    blobGasUsed: executed.blobGasUsed,
    excessBlobGas: executed.excessBlobGas,
    parentBeaconBlockRoot: facts.parentBeaconBlockRoot,
    requestsHash: hexOf(facts.requestsHash),
  }
  const encodedHeader = encodeHeader(committed)
  const hashBytes = keccak256(encodedHeader)
  const hash = hexOf(hashBytes)
  const header = {
    ...committed,
    hash,
    size: quantityHex(encodedHeader.length + bodyBytes),
    uncles: [],
    withdrawals: facts.withdrawals.map((withdrawal) => ({
      index: quantityHex(withdrawal.index),
      validatorIndex: quantityHex(withdrawal.validatorIndex),
      address: withdrawal.address,
      amount: quantityHex(withdrawal.amountGwei),
    })),
  }
  return { hash, payload: toPayload(executed, facts, rawTransactions, hashBytes), header }
}
