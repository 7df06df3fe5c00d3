import { bytesOf, type Hex } from '../../../schemas/eth/hex.ts'
import type { Write } from '../archive/archive.ts'
import type { ArchivedBlocks } from './archived-blocks.ts'
import { type BlockTexts, packTexts, unpackTexts } from './block-texts.ts'
import type { ChainChange } from './chain-feed.ts'

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
  /**
   * Prepares everything up to the head for the archive; once that is written, the store reads old blocks from there. None of these
   * blocks may be unwound later.
   */
  checkpoint(): Promise<Write>
}

/** Blocks below the head that stay as text, because readers follow the head. */
const UNPACKED_BLOCKS = 64

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
      : unpackTexts(this.#content.bytes, this.transactionHashes.length)
  }

  async packed(): Promise<Uint8Array> {
    return this.#content.kind === 'packed' ? this.#content.bytes : packTexts(await this.#content.texts)
  }

  async pack(): Promise<void> {
    this.#content = { kind: 'packed', bytes: await this.packed() }
  }
}

async function toTexts(block: NewBlock): Promise<BlockTexts> {
  const header = JSON.stringify(block.header).slice(0, -1)
  const transactions = block.transactions.map((transaction) => JSON.stringify(transaction))
  const receipts = (await block.receipts).map((receipt) => JSON.stringify(receipt))
  return { header, transactions, receipts }
}

/**
 * The chain of sealed blocks from genesis on, in memory; with an archive, only the blocks since its newest checkpoint are, and the
 * chain begins where it ends. `onChange` is told what has become of the canonical chain.
 */
export function openBlockStore(
  genesis: NewBlock,
  archived: ArchivedBlocks | undefined,
  onChange: (change: ChainChange) => void,
): BlockStore {
  const byHash = new Map<string, Entry>()
  /** Blocks after those that are archived. */
  const canonical: Entry[] = []
  const locations = new Map<string, { readonly block: Entry; readonly index: number }>()
  /** Number of the first block that is not archived. */
  let first = (archived?.head()?.number ?? -1) + 1

  function append(block: NewBlock): void {
    if (block.number !== first + canonical.length)
      throw new Error(`block ${block.number} cannot follow ${first + canonical.length - 1}`)
    const entry = new Entry(block)
    byHash.set(entry.hash, entry)
    canonical.push(entry)
    entry.transactionHashes.forEach((hash, index) => {
      locations.set(hash, { block: entry, index })
    })
    void canonical[canonical.length - 1 - UNPACKED_BLOCKS]?.pack()
    onChange({ kind: 'appended', block: entry })
  }

  function unwindTo(hash: Hex): void {
    const number = byHash.get(hash)?.number ?? archived?.byHash(hash)?.number
    if (number === undefined || number < first - 1 || byNumber(number)?.hash !== hash)
      throw new Error('only a canonical block can be head')
    const orphans = canonical.splice(number + 1 - first)
    for (const orphan of orphans) {
      for (const transaction of orphan.transactionHashes) locations.delete(transaction)
    }
    onChange({ kind: 'reverted', blocks: orphans })
  }

  function byNumber(number: number): StoredBlock | undefined {
    return number < first ? archived?.byNumber(number) : canonical[number - first]
  }

  async function checkpoint(): Promise<Write> {
    if (archived === undefined) throw new Error('this store has no archive')
    const entries = [...byHash.values()]
    const packed = await Promise.all(entries.map(async (entry) => ({ entry, bytes: await entry.packed() })))
    return () => {
      for (const { entry, bytes } of packed) {
        archived.add({ ...toParts(entry), isCanonical: canonical[entry.number - first] === entry, packed: bytes })
      }
      first += canonical.length
      canonical.length = 0
      byHash.clear()
      locations.clear()
    }
  }

  if (first === 0) append(genesis)
  return {
    append,
    unwindTo,
    checkpoint,
    get head() {
      const head = canonical[canonical.length - 1] ?? archived?.head()
      if (head === undefined) throw new Error('the chain has a genesis block')
      return head
    },
    byNumber,
    byHash: (hash) => byHash.get(hash) ?? archived?.byHash(hash),
    locate: (transactionHash) => locations.get(transactionHash) ?? archived?.locate(transactionHash),
  }
}

function toParts({ number, hash, transactionHashes, logsBloom }: Entry) {
  return { number, hash, transactionHashes, logsBloom }
}
