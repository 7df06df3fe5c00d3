import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { TRANSFER_EVENTS } from '../../schemas/eth/nft-transfers.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'

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

/** What is looked up: its columns, and whose. */
interface Lookup {
  readonly columns: string
  readonly table: string
  readonly keys: string
  /** The keys that the step's transfers name, as SELECT of them. */
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

const OF_STEP =
  'FROM nft_transfers WHERE chain = {chain:String} AND block_number > {from:UInt64} AND block_number <= {to:UInt64}'
const EACH = 'arrayJoin([from_address, to_address])'
const NO_ADDRESS = bytesSql('00'.repeat(4 * ADDRESS))

const LOOKUPS: Readonly<Record<Exclude<keyof StepRows, 'transfers' | 'senders'>, Lookup>> = {
  owners: {
    columns: 'contract, token_id, argMax((holder, toUInt32(amount > 0)), (block_number, amount))',
    table: 'nft_token_holders',
    keys: '(contract, token_id, standard)',
    ofStep: `contract, token_id, standard ${OF_STEP} AND standard = 'ERC721'`,
    ofTransfer: ({ contract, tokenId, isMany }) => (isMany ? [] : [`(${contract}, ${tokenId}, 'ERC721')`]),
  },
  holdings: {
    columns: 'contract, token_id, holder, argMax((amount, excess), block_number), max(since_block), max(since_time)',
    table: 'nft_token_holders',
    keys: '(contract, token_id, standard, holder)',
    ofStep: `contract, token_id, standard, ${EACH} ${OF_STEP} AND standard = 'ERC1155'`,
    ofTransfer: ({ contract, tokenId, from, to, isMany }) =>
      isMany ? [from, to].map((holder) => `(${contract}, ${tokenId}, 'ERC1155', ${holder})`) : [],
  },
  pairs: {
    columns: 'contract, holder, argMax((tokens, amount, excess), block_number)',
    table: 'nft_contract_holders',
    keys: '(contract, holder)',
    ofStep: `contract, ${EACH} ${OF_STEP}`,
    ofTransfer: ({ contract, from, to }) => [from, to].map((holder) => pairSql(contract, holder)),
  },
  holderTotals: {
    columns: 'holder, argMax((holdings, contracts), block_number)',
    table: 'nft_holder_totals',
    keys: 'holder',
    ofStep: `${EACH} ${OF_STEP}`,
    ofTransfer: ({ from, to }) => [from, to],
  },
  contractTotals: {
    columns: 'contract, argMax((holdings, holders), block_number)',
    table: 'nft_contract_totals',
    keys: 'contract',
    ofStep: `contract ${OF_STEP}`,
    ofTransfer: ({ contract }) => [contract],
  },
  tokenTotals: {
    columns: 'contract, token_id, argMax(holders, block_number)',
    table: 'nft_token_totals',
    keys: '(contract, token_id)',
    ofStep: `contract, token_id ${OF_STEP} AND standard = 'ERC1155'`,
    ofTransfer: ({ contract, tokenId, isMany }) => (isMany ? [`(${contract}, ${tokenId})`] : []),
  },
  transferTotals: {
    columns: `toUInt32(indexOf([${KINDS}], toString(kind))), key, argMax((transfers, singles), block_number)`,
    table: 'nft_transfer_totals',
    keys: '(kind, key)',
    ofStep: `arrayJoin([('all', toFixedString('', ${4 * ADDRESS})), ('contract', contract), ('from', from_address), ('to', to_address)]) ${OF_STEP}`,
    ofTransfer: ({ contract, from, to }) => [
      `('all', ${NO_ADDRESS})`,
      `('contract', ${contract})`,
      ...[`('from', ${from})`, `('to', ${to})`],
    ],
  },
}

const pairSql = (contract: string, holder: string): string => `(${contract}, ${holder})`

/**
 * Keys of so many transfers are named one by one, in less text than a server takes (256 KiB): for a block at the head it takes the engine a
 * third of what a subquery does. Bytes are escapes, for calls of functions take it five times as long.
 */
const NAMED_TRANSFERS_MAX = 300

/** Reads it; `notReverted` is a condition on `block_hash`: rows of other blocks count for nobody. */
export async function readStep(warehouse: Warehouse, span: Span, notReverted: string): Promise<StepRows> {
  const [transfers, senders] = await Promise.all([
    warehouse.queryWords(TRANSFERS, { ...span }),
    warehouse.queryWords(SENDERS, { ...span }),
  ])
  const named = transfers.length <= NAMED_TRANSFERS_MAX * TRANSFER.row ? literalsOf(transfers) : undefined
  const found = Object.entries(LOOKUPS).map(async ([name, lookup]) => {
    const among = named === undefined ? `SELECT ${lookup.ofStep}` : listOf(named.flatMap(lookup.ofTransfer))
    return [name, await lookUp(warehouse, span, { lookup, among, notReverted })] as const
  })
  return {
    transfers,
    senders,
    ...(Object.fromEntries(await Promise.all(found)) as Omit<StepRows, 'transfers' | 'senders'>),
  }
}

async function lookUp(
  warehouse: Warehouse,
  span: Span,
  { lookup, among, notReverted }: { readonly lookup: Lookup; readonly among: string; readonly notReverted: string },
): Promise<Uint32Array> {
  if (among === '') return new Uint32Array()
  const { columns, table, keys } = lookup
  return await warehouse.queryWords(
    `SELECT ${columns} FROM ${table} WHERE ${BEFORE} AND ${notReverted} AND ${keys} IN (${among})
     GROUP BY ${keys.replace(/^\((.*)\)$/, '$1')}`,
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
 * The same of holders whom no transfer of the step names: from whom a token is taken that a log says somebody else has sent. Their rows
 * are at these places among the owners.
 */
export async function readUnnamed(
  warehouse: Warehouse,
  span: Span,
  {
    notReverted,
    owners,
    places,
  }: { readonly notReverted: string; readonly owners: Uint32Array; readonly places: readonly number[] },
): Promise<readonly Pick<StepRows, 'pairs' | 'holderTotals'>[]> {
  const found: Pick<StepRows, 'pairs' | 'holderTotals'>[] = []
  for (let first = 0; first < places.length; first += NAMED_TRANSFERS_MAX) {
    const named = places
      .slice(first, first + NAMED_TRANSFERS_MAX)
      .map((at) => [literal(owners, at, ADDRESS), literal(owners, at + OWNER.holder, ADDRESS)] as const)
    const [pairs, holderTotals] = await Promise.all([
      lookUp(warehouse, span, {
        lookup: LOOKUPS.pairs,
        among: listOf(named.map((both) => pairSql(...both))),
        notReverted,
      }),
      lookUp(warehouse, span, {
        lookup: LOOKUPS.holderTotals,
        among: listOf(named.map(([, holder]) => holder)),
        notReverted,
      }),
    ])
    found.push({ pairs, holderTotals })
  }
  return found
}
