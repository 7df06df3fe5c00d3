import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { TRANSFER_EVENTS } from '../../schemas/eth/nft-transfers.ts'

/**
 * What a step is folded from: its transfers, and what the tables tell after the last block before it of keys that they touch. Rows are
 * 32-bit words, each item's place among them below.
 */

/** The blocks behind `from` up to `to`, of a fold that begins with `start`. */
export interface Span {
  readonly chain: string
  readonly start: number
  readonly from: number
  readonly to: number
}

const ADDRESS = 5
const WORD = 8
const NUMBER = 2

/** Where the columns of such widths begin, and how wide they are together. */
function layout<Name extends string>(widths: Readonly<Record<Name, number>>) {
  const places: Record<string, number> = {}
  let row = 0
  for (const [name, width] of Object.entries<number>(widths)) {
    places[name] = row
    row += width
  }
  return { ...(places as Record<Name, number>), row }
}

/** Of whatever block was announced; a row that was written twice is there twice, one after the other. */
export const TRANSFER = layout({
  blockNumber: NUMBER,
  logIndex: 1,
  batchIndex: 1,
  transactionIndex: 1,
  /** 1: ERC-1155, of which there are many; 0: one of a kind. */
  isMany: 1,
  /** Place in `TRANSFER_EVENTS`, from 1 on. */
  event: 1,
  blockHash: WORD,
  transactionHash: WORD,
  contract: ADDRESS,
  from: ADDRESS,
  to: ADDRESS,
  tokenId: WORD,
  amount: WORD,
})
const EVENTS = TRANSFER_EVENTS.map((event) => `'${event}'`).join(', ')
const TRANSFERS = `
SELECT block_number, log_index, batch_index, transaction_index, toUInt32(standard = 'ERC1155'), toUInt32(indexOf([${EVENTS}], toString(event))),
  block_hash, transaction_hash, contract, from_address, to_address, token_id, amount
FROM nft_transfers
WHERE chain = {chain:String} AND block_number > {from:UInt64} AND block_number <= {to:UInt64}
ORDER BY block_number, block_hash, log_index, batch_index`

/** Who has sent the transactions of the blocks. */
export const SENDER = layout({ blockNumber: NUMBER, blockHash: WORD, transactionIndex: 1, sender: ADDRESS })
const SENDERS = `
SELECT block_number, block_hash, transaction_index, sender FROM execution_senders
WHERE chain = {chain:String} AND block_number > {from:UInt64} AND block_number <= {to:UInt64}`

/**
 * What somebody has of a token that there are many of; of the zero address, how many have it. Of a token that is one of a kind, whom it
 * went to last: with amount 1, if he has it.
 */
export const HOLDING = layout({
  contract: ADDRESS,
  tokenId: WORD,
  isMany: 1,
  holder: ADDRESS,
  amount: WORD,
  excess: NUMBER,
  sinceBlock: NUMBER,
  sinceTime: 1,
})
export const TOTAL = layout({
  /** Place in `TOTAL_KINDS`. */
  kind: 1,
  key: ADDRESS,
  other: ADDRESS,
  amount: WORD,
  excess: NUMBER,
  tokens: NUMBER,
  others: NUMBER,
  sent: NUMBER,
  sentSingles: NUMBER,
  received: NUMBER,
  receivedSingles: NUMBER,
})
export interface StepRows {
  readonly transfers: Uint32Array
  readonly senders: Uint32Array
}

/** Reads the transfers of a step. */
export async function readStep(warehouse: Warehouse, span: Span): Promise<StepRows> {
  const [transfers, senders] = await Promise.all([
    warehouse.queryWords(TRANSFERS, { ...span }),
    warehouse.queryWords(SENDERS, { ...span }),
  ])
  return { transfers, senders }
}

/** Whether the transfers that begin at these places are of one block. */
export function isOfSameBlock(transfers: Uint32Array, one: number, other: number): boolean {
  return (
    transfers[one + TRANSFER.blockNumber] === transfers[other + TRANSFER.blockNumber] &&
    isEqual(transfers, one + TRANSFER.blockHash, transfers, other + TRANSFER.blockHash)
  )
}

/** Whether the same word of 256 bits begins at these places. */
export function isEqual(words: Uint32Array, at: number, others: Uint32Array, othersAt: number): boolean {
  for (let i = 0; i < WORD; i++) if (words[at + i] !== others[othersAt + i]) return false
  return true
}
