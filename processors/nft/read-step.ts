import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import { TRANSFER_EVENTS } from '../../schemas/eth/nft-transfers.ts'

/**
 * What a step is folded from: its transfers, and what the tables tell of all that they touch after the last block before it. Rows are
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

const OF_STEP =
  'FROM nft_transfers WHERE chain = {chain:String} AND block_number > {from:UInt64} AND block_number <= {to:UInt64}'

/** Whom a token that is one of a kind went to last. */
export const OWNER = layout({ contract: ADDRESS, tokenId: WORD, holder: ADDRESS, isHeld: 1 })
/** What somebody has of a token that there are many of. */
export const HOLDING = layout({
  contract: ADDRESS,
  tokenId: WORD,
  holder: ADDRESS,
  amount: WORD,
  excess: NUMBER,
  sinceBlock: NUMBER,
  sinceTime: 1,
})
/** What somebody has of a contract. */
export const PAIR = layout({ contract: ADDRESS, holder: ADDRESS, tokens: NUMBER, amount: WORD, excess: NUMBER })
export const HOLDER_TOTAL = layout({ holder: ADDRESS, holdings: NUMBER, contracts: NUMBER })
export const CONTRACT_TOTAL = layout({ contract: ADDRESS, holdings: NUMBER, holders: NUMBER })
export const TOKEN_TOTAL = layout({ contract: ADDRESS, tokenId: WORD, holders: NUMBER })
export const TRANSFER_TOTAL = layout({
  /** Place in `COUNTED`, from 1 on. */
  kind: 1,
  key: ADDRESS,
  transfers: NUMBER,
  singles: NUMBER,
})
export const COUNTED = ['all', 'contract', 'from', 'to'] as const
const KINDS = COUNTED.map((kind) => `'${kind}'`).join(', ')

const BEFORE = 'chain = {chain:String} AND start = {start:UInt64} AND block_number <= {from:UInt64}'
const EACH = 'arrayJoin([from_address, to_address])'

const pairsAmong = (notReverted: string, keys: string) => `
SELECT contract, holder, argMax((tokens, amount, excess), block_number) FROM nft_contract_holders
WHERE ${BEFORE} AND ${notReverted} AND (contract, holder) IN (${keys}) GROUP BY contract, holder`
const holdersAmong = (notReverted: string, keys: string) => `
SELECT holder, argMax((holdings, contracts), block_number) FROM nft_holder_totals
WHERE ${BEFORE} AND ${notReverted} AND holder IN (${keys}) GROUP BY holder`

export interface StepRows {
  readonly transfers: Uint32Array
  readonly senders: Uint32Array
  readonly owners: Uint32Array
  readonly holdings: Uint32Array
  readonly pairs: Uint32Array
  readonly holderTotals: Uint32Array
  readonly contractTotals: Uint32Array
  readonly tokenTotals: Uint32Array
  readonly transferTotals: Uint32Array
}

/** `notReverted` is a condition on `block_hash`: rows of other blocks count for nobody. */
export async function readStep(warehouse: Warehouse, span: Span, notReverted: string): Promise<StepRows> {
  const params: QueryParams = { ...span }
  const read = (sql: string) => warehouse.queryWords(sql, params)
  const before = (sql: string, table: string, keys: string, among: string) =>
    read(`SELECT ${sql} FROM ${table} WHERE ${BEFORE} AND ${notReverted} AND ${keys} IN (${among}) GROUP BY ${keys}`)
  const [transfers, senders, owners, holdings, pairs, holderTotals, contractTotals, tokenTotals, transferTotals] =
    await Promise.all([
      read(TRANSFERS),
      read(SENDERS),
      before(
        'contract, token_id, argMax((holder, toUInt32(amount > 0)), (block_number, amount))',
        'nft_token_holders',
        '(contract, token_id, standard)',
        `SELECT contract, token_id, standard ${OF_STEP} AND standard = 'ERC721'`,
      ),
      before(
        'contract, token_id, holder, argMax((amount, excess), block_number), max(since_block), max(since_time)',
        'nft_token_holders',
        '(contract, token_id, standard, holder)',
        `SELECT contract, token_id, standard, ${EACH} ${OF_STEP} AND standard = 'ERC1155'`,
      ),
      read(pairsAmong(notReverted, `SELECT contract, ${EACH} ${OF_STEP}`)),
      read(holdersAmong(notReverted, `SELECT ${EACH} ${OF_STEP}`)),
      before(
        'contract, argMax((holdings, holders), block_number)',
        'nft_contract_totals',
        'contract',
        `SELECT contract ${OF_STEP}`,
      ),
      before(
        'contract, token_id, argMax(holders, block_number)',
        'nft_token_totals',
        '(contract, token_id)',
        `SELECT contract, token_id ${OF_STEP} AND standard = 'ERC1155'`,
      ),
      before(
        `toUInt32(indexOf([${KINDS}], toString(kind))), key, argMax((transfers, singles), block_number)`,
        'nft_transfer_totals',
        '(kind, key)',
        `SELECT arrayJoin([('all', toFixedString('', 20)), ('contract', contract), ('from', from_address), ('to', to_address)]) AS counted
         ${OF_STEP}`,
      ),
    ])
  return {
    ...{ transfers, senders, owners, holdings, pairs, holderTotals, contractTotals, tokenTotals, transferTotals },
  }
}

/** So many are named in one statement. */
const NAMED_MAX = 1_000

/**
 * The same of holders whom no transfer of the step names: whom a token is taken from that a log says somebody else has sent. Addresses are
 * hex without 0x.
 */
export async function readUnnamed(
  warehouse: Warehouse,
  span: Span,
  unnamed: { readonly notReverted: string; readonly pairs: readonly (readonly [contract: string, holder: string])[] },
): Promise<Pick<StepRows, 'pairs' | 'holderTotals'>[]> {
  const { notReverted, pairs } = unnamed
  const found: Pick<StepRows, 'pairs' | 'holderTotals'>[] = []
  for (let first = 0; first < pairs.length; first += NAMED_MAX) {
    const named = pairs.slice(first, first + NAMED_MAX)
    const address = (hex: string) => `unhex('${hex}')`
    const [ofPairs, holderTotals] = await Promise.all([
      warehouse.queryWords(
        pairsAmong(notReverted, named.map((both) => `(${both.map(address).join(', ')})`).join(', ')),
        { ...span },
      ),
      warehouse.queryWords(
        holdersAmong(notReverted, [...new Set(named.map(([, holder]) => address(holder)))].join(', ')),
        { ...span },
      ),
    ])
    found.push({ pairs: ofPairs, holderTotals })
  }
  return found
}
