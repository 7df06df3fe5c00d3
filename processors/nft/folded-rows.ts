import type { InsertColumns, Warehouse } from '../../infra/ports/warehouse.ts'
import type { NftTable } from '../../schemas/tables/nft.ts'
import { insertAll } from '../loop/rows.ts'
import { GrowingRows } from './growing-rows.ts'

/** Rows that are kept in memory at once, of each table. */
const ROWS_MAX = 100_000

// In 32-bit words.
const ADDRESS = 5
const WORD = 8
const NUMBER = 2

const PLACE = {
  block_number: NUMBER,
  log_index: 1,
  batch_index: 1,
  block_hash: WORD,
  time: 1,
  transaction_index: 1,
  transaction_hash: WORD,
} as const
const MOVED = {
  standard: 'text',
  event: 'text',
  token_id: WORD,
  amount: WORD,
  sender: ADDRESS,
  reasons: 'text',
} as const
const BLOCK = { block_number: NUMBER, block_hash: WORD } as const
const AMOUNT = { amount: WORD, excess: 'signed' } as const

interface Fold {
  readonly chain: string
  /** Its first block. */
  readonly start: number
}

/** What a step makes, on its way to the tables. Several tables have the same rows in different orders. */
export class FoldedRows {
  readonly transfers = new GrowingRows({
    ...{ ...PLACE, ...MOVED },
    ...{ contract: ADDRESS, from_address: ADDRESS, to_address: ADDRESS },
  })
  readonly accountTransfers = new GrowingRows({
    ...{ ...PLACE, ...MOVED },
    ...{ contract: ADDRESS, account: ADDRESS, side: 'text', other: ADDRESS },
  })
  readonly transferTotals = new GrowingRows({
    ...BLOCK,
    ...{ kind: 'text', key: ADDRESS, transfers: NUMBER, singles: NUMBER },
  })
  readonly changes = new GrowingRows({
    ...{ ...BLOCK, ...AMOUNT },
    ...{ contract: ADDRESS, token_id: WORD, standard: 'text', holder: ADDRESS },
    ...{ amount_before: WORD, excess_before: 'signed', since_block: NUMBER, since_time: 1 },
  })
  readonly pairs = new GrowingRows({
    ...{ ...BLOCK, ...AMOUNT },
    ...{ contract: ADDRESS, holder: ADDRESS, tokens: NUMBER },
  })
  readonly holderTotals = new GrowingRows({ ...BLOCK, holder: ADDRESS, holdings: NUMBER, contracts: NUMBER })
  readonly contractTotals = new GrowingRows({ ...BLOCK, contract: ADDRESS, holdings: NUMBER, holders: NUMBER })
  readonly tokenTotals = new GrowingRows({ ...BLOCK, contract: ADDRESS, token_id: WORD, holders: NUMBER })

  readonly #warehouse: Warehouse
  #writing: Promise<void> = Promise.resolve()

  constructor(warehouse: Warehouse) {
    this.#warehouse = warehouse
  }

  /** Writes what there is when it is much; others are made meanwhile. Rejects when writing what was there before has failed. */
  async writeIfMany(fold: Fold): Promise<void> {
    const { transfers, accountTransfers, transferTotals, changes, pairs } = this
    const most = Math.max(...[transfers, accountTransfers, transferTotals, changes, pairs].map(({ rows }) => rows))
    if (most < ROWS_MAX) return
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
    const take = (rows: { take(fold: Fold): InsertColumns }) => rows.take(fold)
    const changes = take(this.changes)
    const { amount_before: _amount, excess_before: _excess, ...holdings } = changes
    const [transfers, pairs] = [this.transfers, this.pairs].map(take) as [InsertColumns, InsertColumns]
    const made: readonly (readonly [NftTable, InsertColumns])[] = [
      ['nft_folded_transfers', transfers],
      ['nft_contract_transfers', transfers],
      ['nft_account_transfers', take(this.accountTransfers)],
      ['nft_transfer_totals', take(this.transferTotals)],
      ['nft_changes', changes],
      ['nft_token_holders', holdings],
      ['nft_holder_tokens', holdings],
      ['nft_contract_holders', pairs],
      ['nft_holder_contracts', pairs],
      ['nft_holder_totals', take(this.holderTotals)],
      ['nft_contract_totals', take(this.contractTotals)],
      ['nft_token_totals', take(this.tokenTotals)],
    ]
    const rows = made
      .map(([table, columns]) => ({ table, columns }))
      .filter(({ columns: { chain = [] } }) => chain.length > 0)
    return insertAll(this.#warehouse, rows)
  }
}
