import { createHash } from 'node:crypto'
import { type electra, ssz } from '@lodestar/types'
import { bytesOf, type Hex } from '../../../schemas/eth/hex.ts'
import type { ReceiptLog } from '../../../schemas/eth/receipts.ts'

/** keccak256("DepositEvent(bytes,bytes,bytes,bytes,bytes)") */
export const DEPOSIT_EVENT_TOPIC: Hex = '0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5'

/** EIP-6110, EIP-7002 and EIP-7251. */
const REQUEST_TYPES = { deposits: 0x00, withdrawals: 0x01, consolidations: 0x02 } as const
const WORD_BYTES = 32

/** The byte strings of an ABI-encoded tuple of `bytes`, in order. */
function parseByteStrings(data: Buffer, count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => {
    const offset = Number(data.readBigUInt64BE(index * WORD_BYTES + 24))
    const length = Number(data.readBigUInt64BE(offset + 24))
    return new Uint8Array(data.subarray(offset + WORD_BYTES, offset + WORD_BYTES + length))
  })
}

function toDepositRequest(log: ReceiptLog): electra.DepositRequest {
  const [pubkey, withdrawalCredentials, amount, signature, index] = parseByteStrings(Buffer.from(bytesOf(log.data)), 5)
  if (!pubkey || !withdrawalCredentials || !amount || !signature || !index)
    throw new Error('DepositEvent has five parts')
  return {
    pubkey,
    withdrawalCredentials,
    amount: Number(Buffer.from(amount).readBigUInt64LE()),
    signature,
    index: Buffer.from(index).readBigUInt64LE(),
  }
}

/** The EIP-6110 deposit requests of a block's logs, in order. */
export function depositRequests(logs: readonly ReceiptLog[], depositContract: Hex): electra.DepositRequest[] {
  return logs
    .filter((log) => log.address.toLowerCase() === depositContract && log.topics[0] === DEPOSIT_EVENT_TOPIC)
    .map(toDepositRequest)
}

const NO_REQUESTS: electra.ExecutionRequests = { deposits: [], withdrawals: [], consolidations: [] }

/** A block's requests in the beacon block's terms, from its logs and from what the system calls at its end returned. */
export function toExecutionRequests(
  logs: readonly ReceiptLog[],
  depositContract: Hex,
  { withdrawalRequests, consolidationRequests }: { withdrawalRequests: Uint8Array; consolidationRequests: Uint8Array },
): electra.ExecutionRequests {
  return {
    deposits: depositRequests(logs, depositContract),
    withdrawals: ssz.electra.WithdrawalRequests.deserialize(withdrawalRequests),
    consolidations: ssz.electra.ConsolidationRequests.deserialize(consolidationRequests),
  }
}

/** The header's requestsHash: SHA-256 over the SHA-256 of each non-empty list, type byte first (EIP-7685). */
export function requestsHashOf(requests: electra.ExecutionRequests = NO_REQUESTS): Uint8Array {
  const hash = createHash('sha256')
  const lists = [
    [REQUEST_TYPES.deposits, ssz.electra.DepositRequests.serialize(requests.deposits)],
    [REQUEST_TYPES.withdrawals, ssz.electra.WithdrawalRequests.serialize(requests.withdrawals)],
    [REQUEST_TYPES.consolidations, ssz.electra.ConsolidationRequests.serialize(requests.consolidations)],
  ] as const
  for (const [type, list] of lists) {
    if (list.length > 0) hash.update(createHash('sha256').update(Uint8Array.of(type)).update(list).digest())
  }
  return new Uint8Array(hash.digest())
}
