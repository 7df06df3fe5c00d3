import { bytesOf, type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import type { Archive } from '../archive/archive.ts'
import type { StoredBlock } from './block-store.ts'
import { unpackTexts } from './block-texts.ts'

export const BLOCKS_SCHEMA = `
CREATE TABLE IF NOT EXISTS execution_blocks (
  hash BLOB PRIMARY KEY, number INTEGER NOT NULL, canonical INTEGER NOT NULL,
  bloom BLOB, transactions BLOB NOT NULL, packed BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS execution_blocks_by_number ON execution_blocks (number) WHERE canonical = 1;
CREATE TABLE IF NOT EXISTS execution_transactions (hash BLOB PRIMARY KEY, number INTEGER NOT NULL, place INTEGER NOT NULL) STRICT, WITHOUT ROWID;`

const HASH_BYTES = 32

export interface ArchivedBlock extends Omit<StoredBlock, 'texts'> {
  readonly isCanonical: boolean
  /** See block-texts.ts. */
  readonly packed: Uint8Array
}

/** The blocks up to the newest checkpoint, on disk. */
export interface ArchivedBlocks {
  /** The newest canonical one; undefined while there is none. */
  head(): StoredBlock | undefined
  byNumber(number: number): StoredBlock | undefined
  /** Orphaned ones too. */
  byHash(hash: string): StoredBlock | undefined
  /** In the canonical chain only. */
  locate(transactionHash: string): { readonly block: StoredBlock; readonly index: number } | undefined
  /** To be called within the archive's `commit`. */
  add(block: ArchivedBlock): void
}

export function openArchivedBlocks({ prepare }: Archive): ArchivedBlocks {
  function byNumber(number: number): StoredBlock | undefined {
    return toBlock(prepare('SELECT * FROM execution_blocks WHERE canonical = 1 AND number = ?').get(number))
  }

  return {
    head() {
      const sql = 'SELECT * FROM execution_blocks WHERE canonical = 1 ORDER BY number DESC LIMIT 1'
      return toBlock(prepare(sql).get())
    },
    byNumber,
    byHash: (hash) => toBlock(prepare('SELECT * FROM execution_blocks WHERE hash = ?').get(bytesOf(hash as Hex))),
    locate(transactionHash) {
      const sql = 'SELECT number, place FROM execution_transactions WHERE hash = ?'
      const row = prepare(sql).get(bytesOf(transactionHash as Hex))
      const block = row === undefined ? undefined : byNumber(Number(row.number))
      return block === undefined ? undefined : { block, index: Number(row?.place) }
    },
    add({ number, hash, isCanonical, transactionHashes, logsBloom, packed }) {
      const hashes = transactionHashes.map(bytesOf)
      prepare(
        'INSERT INTO execution_blocks (hash, number, canonical, bloom, transactions, packed) VALUES (?, ?, ?, ?, ?, ?)',
      ).run(bytesOf(hash), number, isCanonical ? 1 : 0, logsBloom ?? null, Buffer.concat(hashes), packed)
      if (!isCanonical) return
      const place = prepare('INSERT INTO execution_transactions (hash, number, place) VALUES (?, ?, ?)')
      for (const [index, each] of hashes.entries()) place.run(each, number, index)
    },
  }
}

function toBlock(row: Record<string, unknown> | undefined): StoredBlock | undefined {
  if (row === undefined) return undefined
  const transactions = row.transactions as Uint8Array
  const count = transactions.length / HASH_BYTES
  const hashAt = (index: number) => hexOf(transactions.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES))
  return {
    number: Number(row.number),
    hash: hexOf(row.hash as Uint8Array),
    transactionHashes: Array.from({ length: count }, (_, index) => hashAt(index)),
    logsBloom: (row.bloom as Uint8Array | null) ?? undefined,
    texts: async () => unpackTexts(row.packed as Uint8Array, count),
  }
}
