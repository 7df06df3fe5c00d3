import { bytesOf } from './hex.ts'
import { keccak256 } from './keccak.ts'
import { encodeRlp, type RlpItem, rlpInteger } from './rlp.ts'
import { orderedTrieRoot } from './trie.ts'

export interface ReceiptLog {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
}

/** The part of a transaction's receipt that the receipts root commits to. */
export interface CommittedReceipt {
  /** EIP-2718 type of the transaction, 0 for legacy. */
  readonly type: number
  readonly status: 'success' | 'reverted'
  readonly cumulativeGasUsed: bigint
  readonly logs: readonly ReceiptLog[]
  /** Computed from the logs when absent. */
  readonly logsBloom?: string
  /** Nonce and version of a deposit of the OP stack, which its receipts commit to since Canyon (optimism specs, deposits.md). */
  readonly deposit?: { readonly nonce: bigint; readonly version: bigint }
}

const BLOOM_BYTES = 256
const BLOOM_BITS = 8 * BLOOM_BYTES
const BLOOM_HASH_PAIRS = 3

/** The three bits of a 2,048-bit bloom that an address or a topic sets (yellow paper, section 4.3.1). */
function bloomBits(item: Uint8Array): number[] {
  const hash = keccak256(item)
  return Array.from({ length: BLOOM_HASH_PAIRS }, (_, pair) => {
    return (((hash[2 * pair] ?? 0) << 8) | (hash[2 * pair + 1] ?? 0)) % BLOOM_BITS
  })
}

/** Bit 0 is the lowest bit of the last byte. */
function bloomPosition(bit: number): { index: number; mask: number } {
  return { index: BLOOM_BYTES - 1 - (bit >> 3), mask: 1 << (bit & 7) }
}

/** Bloom of the logs' addresses and topics, 256 bytes. */
export function logsBloomOf(logs: readonly ReceiptLog[]): Uint8Array {
  const bloom = new Uint8Array(BLOOM_BYTES)
  const items = new Set(logs.flatMap((log) => [log.address, ...log.topics]))
  for (const item of items) {
    for (const bit of bloomBits(bytesOf(item))) {
      const { index, mask } = bloomPosition(bit)
      bloom[index] = (bloom[index] ?? 0) | mask
    }
  }
  return bloom
}

/** A test for one address or topic against blooms: false is certain, true is a reason to look. */
export function bloomTester(item: string): (bloom: Uint8Array) => boolean {
  const positions = bloomBits(bytesOf(item)).map(bloomPosition)
  return (bloom) => positions.every(({ index, mask }) => ((bloom[index] ?? 0) & mask) !== 0)
}

/** A receipt as it stands in the receipts trie: EIP-2718 type byte (none for legacy), then RLP with the bloom. */
export function encodeReceipt(receipt: CommittedReceipt): Uint8Array {
  const bloom = receipt.logsBloom === undefined ? logsBloomOf(receipt.logs) : bytesOf(receipt.logsBloom)
  const { deposit } = receipt
  const body = encodeRlp([
    rlpInteger(receipt.status === 'success' ? 1 : 0),
    rlpInteger(receipt.cumulativeGasUsed),
    bloom,
    receipt.logs.map(toRlpItem),
    ...(deposit === undefined ? [] : [rlpInteger(deposit.nonce), rlpInteger(deposit.version)]),
  ])
  if (receipt.type === 0) return body
  const typed = new Uint8Array(1 + body.length)
  typed[0] = receipt.type
  typed.set(body, 1)
  return typed
}

function toRlpItem(log: ReceiptLog): RlpItem {
  return [bytesOf(log.address), log.topics.map(bytesOf), bytesOf(log.data)]
}

/** The receiptsRoot of a block, from all its receipts in order; 32 bytes. Known since Byzantium (status, not state root). */
export function receiptsRoot(receipts: readonly CommittedReceipt[]): Uint8Array {
  return orderedTrieRoot(receipts.map(encodeReceipt))
}
