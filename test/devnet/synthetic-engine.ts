import { createHash } from 'node:crypto'
import { type deneb, type electra, ssz } from '@lodestar/types'
import { depositDataFor } from '../../infra/devnet/consensus/deposits.ts'
import { withdrawalAddressOf } from '../../infra/devnet/consensus/keys.ts'
import type { PayloadRequest } from '../../infra/devnet/engine.ts'
import type { ListeningEngine } from '../../infra/devnet/layers.ts'
import { bytesOf, type Hex, hexOf } from '../../schemas/eth/hex.ts'

export interface SyntheticDeposit {
  readonly validatorNumber: number
  readonly amountGwei: bigint
}

export interface SyntheticEngineOptions {
  readonly genesisTimeSec: number
  /** Deposits by slot. */
  readonly deposits?: ReadonlyMap<number, SyntheticDeposit | readonly SyntheticDeposit[]>
  /** EIP-7002 requests by slot, as the owner of the validator's withdrawal address would send them. */
  readonly withdrawalRequests?: ReadonlyMap<number, electra.WithdrawalRequest>
}

function hashOf({ next: _, ...request }: PayloadRequest): Uint8Array {
  const text = JSON.stringify(request, (_, value) => (typeof value === 'bigint' ? value.toString() : value))
  return new Uint8Array(createHash('sha256').update(text).digest())
}

/** An execution side without transactions: payloads that link up, deposits out of thin air. For tests of the consensus side. */
export async function openSyntheticEngine(options: SyntheticEngineOptions): Promise<ListeningEngine> {
  const genesisPayload: deneb.ExecutionPayload = {
    ...ssz.deneb.ExecutionPayload.defaultValue(),
    blockHash: new Uint8Array(createHash('sha256').update('genesis').digest()),
    timestamp: options.genesisTimeSec,
    gasLimit: 36_000_000,
  }
  const numbers = new Map<Hex, number>([[hexOf(genesisPayload.blockHash), 0]])
  const depositCounts = new Map<Hex, number>([[hexOf(genesisPayload.blockHash), 0]])
  let head = hexOf(genesisPayload.blockHash)

  return {
    url: 'http://127.0.0.1:1',
    chainId: 31_337,
    depositContractAddress: `0x${'42'.repeat(20)}`,
    genesisHash: hexOf(genesisPayload.blockHash),
    genesisPayload,
    get headHash() {
      return head
    },
    async build(request) {
      if (request.parentHash !== head) throw new Error(`parent ${request.parentHash} is not the head ${head}`)
      const blockHash = hashOf(request)
      const blockNumber = (numbers.get(head) ?? 0) + 1
      const made = [options.deposits?.get(request.slot) ?? []].flat()
      const withdrawalRequest = options.withdrawalRequests?.get(request.slot)
      const index = depositCounts.get(head) ?? 0
      const payload: deneb.ExecutionPayload = {
        ...genesisPayload,
        parentHash: bytesOf(request.parentHash),
        feeRecipient: bytesOf(request.feeRecipient),
        prevRandao: bytesOf(request.prevRandao),
        blockNumber,
        timestamp: request.timestampSec,
        blockHash,
        withdrawals: request.withdrawals.map((withdrawal) => ({
          index: withdrawal.index,
          validatorIndex: withdrawal.validatorIndex,
          address: bytesOf(withdrawal.address),
          amount: withdrawal.amountGwei,
        })),
      }
      head = hexOf(blockHash)
      numbers.set(head, blockNumber)
      depositCounts.set(head, index + made.length)
      const deposits = made.map((deposit, i) => toDepositRequest(deposit, index + i))
      const withdrawals = withdrawalRequest === undefined ? [] : [withdrawalRequest]
      return { payload, requests: { deposits, withdrawals, consolidations: [] }, blobKzgCommitments: [] }
    },
    async rollbackTo(blockHash) {
      if (!numbers.has(blockHash)) throw new Error(`unknown block ${blockHash}`)
      head = blockHash
    },
    async [Symbol.asyncDispose]() {},
  }
}

function toDepositRequest(
  deposit: { readonly validatorNumber: number; readonly amountGwei: bigint },
  index: number,
): electra.DepositRequest {
  const data = depositDataFor(deposit.validatorNumber, deposit.amountGwei, withdrawalAddressOf(deposit.validatorNumber))
  return {
    pubkey: bytesOf(data.pubkey),
    withdrawalCredentials: bytesOf(data.withdrawalCredentials),
    amount: Number(data.amountGwei),
    signature: bytesOf(data.signature),
    index: BigInt(index),
  }
}
