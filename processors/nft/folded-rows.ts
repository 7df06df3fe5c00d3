import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { TOKEN_STANDARDS, TRANSFER_EVENTS } from '../../schemas/eth/nft-transfers.ts'
import { TOTAL_KINDS, TRANSFER_LISTS } from '../../schemas/tables/nft.ts'
import { insertAll, joinRows, type TableRows } from '../loop/rows.ts'
import { GrowingRows } from './growing-rows.ts'
import { ODD_TRANSFERS } from './odd-transfers.ts'

/**
 * Rows that are kept in memory at once, of each table: an insert makes one part, and the more it has the less often its rows are merged again.
 */
const ROWS_MAX = 400_000

// In 32-bit words.
const ADDRESS = 5
const WORD = 8
const NUMBER = 2

const BLOCK = { block_number: NUMBER, block_hash: WORD } as const
const AMOUNT = { amount: WORD, excess: 'signed' } as const
const HOLDING = {
  ...{ ...BLOCK, ...AMOUNT },
  ...{ contract: ADDRESS, token_id: WORD, standard: TOKEN_STANDARDS, holder: ADDRESS },
  ...{ since_block: NUMBER, since_time: 1 },
} as const

interface Fold {
  readonly chain: string
  /** Its first block. */
  readonly start: number
}

/** What a step makes, on its way to the tables. */
export class FoldedRows {
  /** In each list that a transfer is in. */
  readonly transfers = new GrowingRows({
    ...{ ...BLOCK, log_index: 1, batch_index: 1 },
    ...{ kind: TRANSFER_LISTS, key: ADDRESS },
    ...{ time: 1, transaction_index: 1, transaction_hash: WORD },
    ...{ contract: ADDRESS, standard: TOKEN_STANDARDS, event: TRANSFER_EVENTS },
    ...{ from_address: ADDRESS, to_address: ADDRESS },
    ...{ token_id: WORD, amount: WORD, sender: ADDRESS, reasons: ODD_TRANSFERS },
  })
  /** What holders have of tokens that they had another amount of before. */
  readonly holdings = new GrowingRows(HOLDING)
  /** How many hold a token that there are many of, as what the zero address has of it. */
  readonly holders = new GrowingRows(HOLDING)
  readonly totals = new GrowingRows({
    ...{ ...BLOCK, ...AMOUNT },
    ...{ kind: TOTAL_KINDS, key: ADDRESS, other: ADDRESS, tokens: NUMBER, others: NUMBER },
    ...{ sent: NUMBER, sent_singles: NUMBER, received: NUMBER, received_singles: NUMBER },
  })

  readonly #warehouse: Warehouse
  #writing: Promise<void> = Promise.resolve()

  constructor(warehouse: Warehouse) {
    this.#warehouse = warehouse
  }

  /** Writes what there is when it is much; others are made meanwhile. Rejects when writing what was there before has failed. */
  async writeIfMany(fold: Fold): Promise<void> {
    const { transfers, holdings, totals } = this
    if (Math.max(transfers.rows, holdings.rows, totals.rows) < ROWS_MAX) return
    await this.#writing
    this.#writing = this.#write(fold)
    // Whoever writes next, or ends, is told.
    this.#writing.catch(() => {})
  }

  /** Resolves when all is in the tables. */
  async end(fold: Fold): Promise<void> {
    await this.#writing
    await this.#write(fold)
  }

  #write(fold: Fold): Promise<void> {
    const holdings = this.holdings.take(fold)
    const { since_block: _block, since_time: _time, ...changes } = holdings
    const made: readonly TableRows[] = [
      { table: 'nft_transfer_lists', columns: this.transfers.take(fold) },
      { table: 'nft_totals', columns: this.totals.take(fold) },
      { table: 'nft_changes', columns: changes },
      { table: 'nft_token_holders', columns: holdings },
      { table: 'nft_token_holders', columns: this.holders.take(fold) },
      { table: 'nft_holder_tokens', columns: holdings },
    ]
    return insertAll(this.#warehouse, joinRows(made))
  }
}
