import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/** JSON texts of a block, ready to be put into an answer. */
export interface BlockTexts {
  /** The block's JSON object without `transactions` and without its closing brace. */
  readonly header: string
  readonly transactions: readonly string[]
  readonly receipts: readonly string[]
}

const EMPTY_BLOOM = `"logsBloom":"0x${'00'.repeat(256)}"`
const EMPTY_BLOOM_MARK = '"logsBloom":0'
const FIELD_SEPARATOR = '\n' // JSON.stringify never writes one
/** A block becomes a third, in half the time that deflate takes. */
const PACKING = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export function packTexts(texts: BlockTexts): Uint8Array {
  const joined = [texts.header, ...texts.transactions, ...texts.receipts].join(FIELD_SEPARATOR)
  // A copy, because zlib's answer is a piece of a much larger buffer that would stay with it.
  return new Uint8Array(zstdCompressSync(joined.replaceAll(EMPTY_BLOOM, EMPTY_BLOOM_MARK), PACKING))
}

export function unpackTexts(bytes: Uint8Array, transactionCount: number): BlockTexts {
  const joined = zstdDecompressSync(bytes).toString('latin1').replaceAll(EMPTY_BLOOM_MARK, EMPTY_BLOOM)
  const [header = '', ...rest] = joined.split(FIELD_SEPARATOR)
  return { header, transactions: rest.slice(0, transactionCount), receipts: rest.slice(transactionCount) }
}
