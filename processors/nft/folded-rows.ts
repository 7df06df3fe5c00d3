import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { TOKEN_STANDARDS, TRANSFER_EVENTS } from '../../schemas/eth/nft-transfers.ts'
import { TOTAL_KINDS, TRANSFER_LISTS } from '../../schemas/tables/nft.ts'
import { giveBackRows, insertAll, joinRows, type TableRows } from '../loop/rows.ts'
import { GrowingRows } from './growing-rows.ts'
import { ODD_TRANSFERS } from './odd-transfers.ts'

/**
 * Rows that are kept in memory at once, of each of the forms below: an insert makes one part of a table, and the more it has the less often
 * its rows are merged again. Columns double their memory as they grow: this is what half a million rows (2^19) and a block's more fit into.
 */
const ROWS_MAX = 500_000

// In 32-bit words.
const ADDRESS = 5
const WORD = 8
const NUMBER = 2

const BLOCK = { block_number: { run: NUMBER }, block_hash: { run: WORD } } as const
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

/** A block that is folded. */
export interface FoldedBlock {
  readonly number: number
  readonly timeSec: number
}

/** What is written together; those who hold tokens (`holders`) with what they hold. */
const FORMS = ['transfers', 'totals', 'holdings'] as const
type Form = (typeof FORMS)[number]

/** What a step makes, on its way to the tables. */
export class FoldedRows {
  /** In each list that a transfer is in. */
  readonly transfers = new GrowingRows({
    ...{ ...BLOCK, log_index: 1, batch_index: 1 },
    ...{ kind: TRANSFER_LISTS, key: ADDRESS },
    ...{ time: { run: 1 }, transaction_index: 1, transaction_hash: WORD },
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

  readonly #warehouse: Pick<Warehouse, 'insert'>
  readonly #rowsMax: number
  /** What is written of each form, whose memory the one before is. */
  readonly #writing = new Map<Form, Promise<void>>()

  constructor(warehouse: Pick<Warehouse, 'insert'>, rowsMax = ROWS_MAX) {
    this.#warehouse = warehouse
    this.#rowsMax = rowsMax
  }

  /** Rows that come are of this block, whose hash begins there. */
  begin({ number, timeSec }: FoldedBlock, words: Uint32Array, hash: number): void {
    for (const { columns } of [this.transfers, this.holdings, this.holders, this.totals]) {
      columns.block_number.setNumber(number)
      columns.block_hash.set(words, hash)
    }
    this.transfers.columns.time.setNumber(timeSec)
  }

  /**
   * Writes what there is of a form when it is much; others are made meanwhile. Rejects when writing what was there before has failed, and
   * none is under way any more.
   */
  async writeIfMany(fold: Fold): Promise<void> {
    for (const form of FORMS) {
      if (this[form].rows < this.#rowsMax) continue
      await this.#written([form])
      const writing = this.#write(this.#take(form, fold))
      this.#writing.set(form, writing)
      // Whoever writes next, or ends, is told.
      writing.catch(() => {})
    }
  }

  /** Resolves when all is in the tables. */
  async end(fold: Fold): Promise<void> {
    await this.#written(FORMS)
    await this.#write(FORMS.flatMap((form) => this.#take(form, fold)))
  }

  async #write(taken: readonly TableRows[]): Promise<void> {
    const rows = joinRows(taken)
    await insertAll(this.#warehouse, rows)
    giveBackRows(rows, taken)
  }

  /** Resolves when what was taken of these forms is in the tables: their memory is free. */
  async #written(forms: readonly Form[]): Promise<void> {
    try {
      await Promise.all(forms.map((form) => this.#writing.get(form)))
    } catch (error) {
      await Promise.allSettled(this.#writing.values())
      throw error
    }
  }

  #take(form: Form, fold: Fold): readonly TableRows[] {
    if (form === 'transfers') return [{ table: 'nft_transfer_lists', columns: this.transfers.take(fold) }]
    if (form === 'totals') return [{ table: 'nft_totals', columns: this.totals.take(fold) }]
    const holdings = this.holdings.take(fold)
    const { since_block: _block, since_time: _time, ...changes } = holdings
    return [
      { table: 'nft_changes', columns: changes },
      { table: 'nft_token_holders', columns: holdings },
      { table: 'nft_token_holders', columns: this.holders.take(fold) },
      { table: 'nft_holder_tokens', columns: holdings },
    ]
  }
}
