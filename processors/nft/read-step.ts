import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { TRANSFER_EVENTS } from '../../schemas/eth/nft-transfers.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'
import { TOTAL_KINDS } from '../../schemas/tables/nft.ts'

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
const KINDS = TOTAL_KINDS.map((kind) => `'${kind}'`).join(', ')

const BEFORE = 'chain = {chain:String} AND start = {start:UInt64} AND block_number <= {from:UInt64}'

export interface StepRows {
  readonly transfers: Uint32Array
  readonly senders: Uint32Array
  readonly holdings: Uint32Array
  readonly totals: Uint32Array
}

/** Keys that transfers name. */
interface Keys {
  readonly columns: string
  /** Those of the step's transfers, as SELECT of them. */
  readonly ofStep: string
  /** The same of one transfer, as literals. */
  readonly ofTransfer: (literals: Literals) => readonly string[]
}

/** Parts of a transfer as SQL. */
interface Literals {
  readonly contract: string
  readonly from: string
  readonly to: string
  readonly tokenId: string
  readonly isMany: boolean
}

/** What is looked up: the newest row of each group, whose columns are found by any of the keys. */
interface Lookup {
  readonly columns: string
  readonly table: string
  readonly keys: readonly Keys[]
  readonly groups: string
}

const OF_STEP =
  'FROM nft_transfers WHERE chain = {chain:String} AND block_number > {from:UInt64} AND block_number <= {to:UInt64}'
const NO_ADDRESS = bytesSql('00'.repeat(4 * ADDRESS))
const NOBODY = `toFixedString('', ${4 * ADDRESS})`

const HOLDINGS: Lookup = {
  columns: `contract, token_id, toUInt32(standard = 'ERC1155'),
    argMax((holder, amount, excess, since_block, since_time), (block_number, amount))`,
  table: 'nft_token_holders',
  keys: [
    {
      columns: '(contract, token_id, standard)',
      ofStep: `contract, token_id, standard ${OF_STEP} AND standard = 'ERC721'`,
      ofTransfer: ({ contract, tokenId, isMany }) => (isMany ? [] : [`(${contract}, ${tokenId}, 'ERC721')`]),
    },
    {
      columns: '(contract, token_id, standard, holder)',
      ofStep: `contract, token_id, standard, arrayJoin([from_address, to_address, ${NOBODY}]) ${OF_STEP} AND standard = 'ERC1155'`,
      ofTransfer: ({ contract, tokenId, from, to, isMany }) =>
        isMany ? [from, to, NO_ADDRESS].map((holder) => `(${contract}, ${tokenId}, 'ERC1155', ${holder})`) : [],
    },
  ],
  groups: `contract, token_id, standard, if(standard = 'ERC1155', holder, ${NOBODY})`,
}

const pairSql = (contract: string, holder: string): string => `('contract_account', ${contract}, ${holder})`
const accountSql = (account: string): string => `('account', ${account}, ${NO_ADDRESS})`

const TOTALS: Lookup = {
  columns: `toUInt32(indexOf([${KINDS}], toString(kind)) - 1), key, other,
    argMax((amount, excess, tokens, others, sent, sent_singles, received, received_singles), block_number)`,
  table: 'nft_totals',
  keys: [
    {
      columns: '(kind, key, other)',
      ofStep: `arrayJoin([
        ('contract', contract, ${NOBODY}), ('account', from_address, ${NOBODY}), ('account', to_address, ${NOBODY}),
        ('contract_account', contract, from_address), ('contract_account', contract, to_address)
      ]) ${OF_STEP}`,
      ofTransfer: ({ contract, from, to }) => [
        `('contract', ${contract}, ${NO_ADDRESS})`,
        ...[from, to].flatMap((account) => [accountSql(account), pairSql(contract, account)]),
      ],
    },
  ],
  groups: 'kind, key, other',
}

/**
 * Keys of so many transfers are named one by one, in less text than a server takes (256 KiB): for a block at the head it takes the engine a
 * third of what a subquery does. Bytes are escapes, for calls of functions take it five times as long.
 */
const NAMED_TRANSFERS_MAX = 250

/** Reads it; `notReverted` is a condition on `block_hash`: rows of other blocks count for nobody. */
export async function readStep(warehouse: Warehouse, span: Span, notReverted: string): Promise<StepRows> {
  const [transfers, senders] = await Promise.all([
    warehouse.queryWords(TRANSFERS, { ...span }),
    warehouse.queryWords(SENDERS, { ...span }),
  ])
  const named = transfers.length <= NAMED_TRANSFERS_MAX * TRANSFER.row ? literalsOf(transfers) : undefined
  const find = async (lookup: Lookup) => {
    const among = lookup.keys.map(({ ofStep, ofTransfer }) =>
      named === undefined ? `SELECT ${ofStep}` : listOf(named.flatMap(ofTransfer)),
    )
    return await lookUp(warehouse, span, { lookup, among, notReverted })
  }
  const [holdings, totals] = await Promise.all([find(HOLDINGS), find(TOTALS)])
  return { transfers, senders, holdings, totals }
}

interface Asked {
  readonly lookup: Lookup
  /** Of each of the lookup's keys those that are asked for; none where it is empty. */
  readonly among: readonly string[]
  readonly notReverted: string
}

async function lookUp(
  warehouse: Warehouse,
  span: Span,
  { lookup: { columns, table, keys, groups }, among, notReverted }: Asked,
): Promise<Uint32Array> {
  const asked = keys.flatMap((one, i) => (among[i] === '' ? [] : [`${one.columns} IN (${among[i]})`]))
  if (asked.length === 0) return new Uint32Array()
  return await warehouse.queryWords(
    `SELECT ${columns} FROM ${table} WHERE ${BEFORE} AND ${notReverted} AND (${asked.join(' OR ')}) GROUP BY ${groups}`,
    { ...span },
  )
}

const listOf = (keys: readonly string[]): string => [...new Set(keys)].join(', ')

function literalsOf(transfers: Uint32Array): readonly Literals[] {
  const literals: Literals[] = []
  for (let at = 0; at < transfers.length; at += TRANSFER.row)
    literals.push({
      contract: literal(transfers, at + TRANSFER.contract, ADDRESS),
      from: literal(transfers, at + TRANSFER.from, ADDRESS),
      to: literal(transfers, at + TRANSFER.to, ADDRESS),
      tokenId: literal(transfers, at + TRANSFER.tokenId, WORD),
      isMany: transfers[at + TRANSFER.isMany] === 1,
    })
  return literals
}

/** Bytes of so many words as text of SQL. */
function literal(words: Uint32Array, at: number, width: number): string {
  return bytesSql(Buffer.from(words.buffer, words.byteOffset + 4 * at, 4 * width).toString('hex'))
}

/**
 * Totals of holders whom no transfer of the step names: from whom a token is taken that a log says somebody else has sent. They are at
 * these places among the holdings.
 */
export async function readUnnamed(
  warehouse: Warehouse,
  span: Span,
  {
    notReverted,
    holdings,
    places,
  }: { readonly notReverted: string; readonly holdings: Uint32Array; readonly places: readonly number[] },
): Promise<readonly Uint32Array[]> {
  const found: Uint32Array[] = []
  for (let first = 0; first < places.length; first += NAMED_TRANSFERS_MAX) {
    const named = places.slice(first, first + NAMED_TRANSFERS_MAX).flatMap((at) => {
      const holder = literal(holdings, at + HOLDING.holder, ADDRESS)
      return [pairSql(literal(holdings, at + HOLDING.contract, ADDRESS), holder), accountSql(holder)]
    })
    found.push(await lookUp(warehouse, span, { lookup: TOTALS, among: [listOf(named)], notReverted }))
  }
  return found
}
