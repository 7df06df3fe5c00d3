import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { bytesOf } from '../../../schemas/eth/hex.ts'
import type { Hex } from '../engine.ts'

/** JSON texts of a block, ready to be put into an answer. */
export interface BlockTexts {
  /** The block's JSON object without `transactions` and without its closing brace. */
  readonly header: string
  readonly transactions: readonly string[]
  readonly receipts: readonly string[]
}

export interface StoredBlock {
  readonly number: number
  readonly hash: Hex
  readonly transactionHashes: readonly Hex[]
  /** Undefined when the block has no log. */
  readonly logsBloom: Uint8Array | undefined
  texts(): Promise<BlockTexts>
}

export interface NewBlock {
  readonly number: number
  readonly hash: Hex
  readonly header: Readonly<Record<string, unknown>>
  readonly transactions: readonly (Readonly<Record<string, unknown>> & { readonly hash: Hex })[]
  readonly logsBloom: Hex
  /** JSON objects of the receipts, when anvil has told them. */
  readonly receipts: Promise<readonly object[]>
}

export interface BlockStore {
  /** Makes the block the head; the block before it must be its parent. */
  append(block: NewBlock): void
  /** Makes an older block the head again; those above it stay readable by hash. */
  unwindTo(hash: Hex): void
  readonly head: StoredBlock
  byNumber(number: number): StoredBlock | undefined
  byHash(hash: string): StoredBlock | undefined
  /** In the canonical chain only. */
  locate(transactionHash: string): { readonly block: StoredBlock; readonly index: number } | undefined
}

const EMPTY_BLOOM = `"logsBloom":"0x${'00'.repeat(256)}"`
const EMPTY_BLOOM_MARK = '"logsBloom":0'
const FIELD_SEPARATOR = '\n' // JSON.stringify never writes one
/** Blocks below the head that stay as text, because readers follow the head. */
const UNPACKED_BLOCKS = 64
// Small windows: a block takes about 0.02 ms and becomes a quarter.
const PACKING = { level: 1, memLevel: 6, windowBits: 13 } as const

/** A block that turns from text to compressed bytes when it is old: about 1 kB per block instead of 8. */
class Entry implements StoredBlock {
  readonly number: number
  readonly hash: Hex
  readonly transactionHashes: readonly Hex[]
  readonly logsBloom: Uint8Array | undefined
  #content:
    | { readonly kind: 'texts'; readonly texts: Promise<BlockTexts> }
    | { readonly kind: 'packed'; readonly bytes: Uint8Array }

  constructor(block: NewBlock) {
    this.number = block.number
    this.hash = block.hash
    this.transactionHashes = block.transactions.map((transaction) => transaction.hash)
    const bloom = bytesOf(block.logsBloom)
    this.logsBloom = bloom.some((byte) => byte !== 0) ? bloom : undefined
    const texts = toTexts(block)
    // A failure to learn the receipts is for whoever asks for them, and for the engine's next call.
    texts.catch(() => undefined)
    this.#content = { kind: 'texts', texts }
  }

  async texts(): Promise<BlockTexts> {
    return this.#content.kind === 'texts'
      ? this.#content.texts
      : unpack(this.#content.bytes, this.transactionHashes.length)
  }

  async pack(): Promise<void> {
    if (this.#content.kind === 'packed') return
    this.#content = { kind: 'packed', bytes: pack(await this.#content.texts) }
  }
}

async function toTexts(block: NewBlock): Promise<BlockTexts> {
  const header = JSON.stringify(block.header).slice(0, -1)
  const transactions = block.transactions.map((transaction) => JSON.stringify(transaction))
  const receipts = (await block.receipts).map((receipt) => JSON.stringify(receipt))
  return { header, transactions, receipts }
}

function pack(texts: BlockTexts): Uint8Array {
  const joined = [texts.header, ...texts.transactions, ...texts.receipts].join(FIELD_SEPARATOR)
  // A copy, because zlib's answer is a piece of a much larger buffer that would stay with it.
  return new Uint8Array(deflateRawSync(joined.replaceAll(EMPTY_BLOOM, EMPTY_BLOOM_MARK), PACKING))
}

function unpack(bytes: Uint8Array, transactionCount: number): BlockTexts {
  const joined = inflateRawSync(bytes).toString('latin1').replaceAll(EMPTY_BLOOM_MARK, EMPTY_BLOOM)
  const [header = '', ...rest] = joined.split(FIELD_SEPARATOR)
  return { header, transactions: rest.slice(0, transactionCount), receipts: rest.slice(transactionCount) }
}

/** The chain of sealed blocks, in memory, from genesis on. */
export function openBlockStore(genesis: NewBlock): BlockStore {
  const byHash = new Map<string, Entry>()
  const canonical: Entry[] = []
  const locations = new Map<string, { readonly block: Entry; readonly index: number }>()

  function append(block: NewBlock): void {
    if (block.number !== canonical.length)
      throw new Error(`block ${block.number} cannot follow ${canonical.length - 1}`)
    const entry = new Entry(block)
    byHash.set(entry.hash, entry)
    canonical.push(entry)
    entry.transactionHashes.forEach((hash, index) => {
      locations.set(hash, { block: entry, index })
    })
    void canonical[canonical.length - 1 - UNPACKED_BLOCKS]?.pack()
  }

  append(genesis)
  return {
    append,
    unwindTo(hash) {
      const target = byHash.get(hash)
      if (target === undefined || canonical[target.number] !== target)
        throw new Error('only a canonical block can be head')
      for (const orphan of canonical.splice(target.number + 1)) {
        for (const transaction of orphan.transactionHashes) locations.delete(transaction)
      }
    },
    get head() {
      const head = canonical[canonical.length - 1]
      if (head === undefined) throw new Error('the chain has a genesis block')
      return head
    },
    byNumber: (number) => canonical[number],
    byHash: (hash) => byHash.get(hash),
    locate: (transactionHash) => locations.get(transactionHash),
  }
}
