import { bytesOf, hexOf } from './hex.ts'
import { keccak256 } from './keccak.ts'
import { RlpWriter } from './rlp-writer.ts'
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
  const writer = new RlpWriter()
  return writeReceipt(writer, receipt)
}

/** What is written is good until the writer is reset. */
function writeReceipt(writer: RlpWriter, receipt: CommittedReceipt): Uint8Array {
  const { deposit, logs, logsBloom = hexOf(logsBloomOf(logs)), type } = receipt
  const end = writer.mark
  if (deposit !== undefined) {
    writer.quantity(hexQuantity(deposit.version))
    writer.quantity(hexQuantity(deposit.nonce))
  }
  const endOfLogs = writer.mark
  for (let i = logs.length - 1; i >= 0; i--) writeLog(writer, logs[i] as ReceiptLog)
  writer.closeList(endOfLogs)
  writer.hex(logsBloom)
  writer.quantity(hexQuantity(receipt.cumulativeGasUsed))
  writer.quantity(receipt.status === 'success' ? '0x1' : '0x0')
  writer.closeList(end)
  if (type !== 0) writer.rawByte(type)
  return writer.take(end)
}

function hexQuantity(value: bigint): string {
  return `0x${value.toString(16)}`
}

function writeLog(writer: RlpWriter, { address, topics, data }: ReceiptLog): void {
  const end = writer.mark
  writer.hex(data)
  const endOfTopics = writer.mark
  for (let i = topics.length - 1; i >= 0; i--) writer.hex(topics[i] as string)
  writer.closeList(endOfTopics)
  writer.hex(address)
  writer.closeList(end)
}

/** Of one block at a time. */
const blockWriter = new RlpWriter()

/** The receiptsRoot of a block, from all its receipts in order; 32 bytes. Known since Byzantium (status, not state root). */
export function receiptsRoot(receipts: readonly CommittedReceipt[]): Uint8Array {
  blockWriter.reset()
  return orderedTrieRoot(receipts.map((receipt) => writeReceipt(blockWriter, receipt)))
}
