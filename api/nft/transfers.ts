import type { Static } from 'typebox'
import type { QueryParams } from '../../infra/ports/warehouse.ts'
import { getAssetsTransferRoute, type Transfer } from '../../schemas/routes/nft/transfers.ts'
import { tokenText } from './amounts.ts'
import { answered, type NftScope, nftOperation, toValidAt } from './asking.ts'
import { coverageOf, finalityOf } from './coverage.ts'
import type { Standard } from './metadata.ts'
import { foldParams } from './pages.ts'

type Parameters = Static<typeof getAssetsTransferRoute.parameters>

/** Transfers of one contract, or of one account on one side, or of all: they lie together, in the order of the chain. */
interface Stream {
  readonly kind: 'all' | 'contract' | 'from' | 'to'
  /** Hex without 0x. */
  readonly key: string
}

/** Block, log, and place in it, as text. */
type Place = readonly string[]

const ZEROS = '00'.repeat(20)
/** Rows that are looked at, of all streams together, one time after the other, where not each of them fits. */
const LOOKED_AT = [4_000, 12_000, 24_000] as const
/** Transfers of a list that are counted one by one where no count is kept. */
const COUNTED_ROWS_MAX = 20_000
const READ_ROWS = 1_024

export const getAssetsTransfer = nftOperation(getAssetsTransferRoute, async (parameters, scope) => {
  const streams = await streamsOf(scope, parameters)
  const [page, total, coverage] = await Promise.all([
    selectTransfers(scope, streams, parameters),
    countTransfers(scope, streams, parameters),
    coverageOf(scope),
  ])
  const isAll = scope.after === undefined && page.next === undefined
  const pageKey = page.next === undefined ? null : scope.pageKeyAfter(page.next)
  const totalCount = isAll ? page.rows.length : total
  return answered({
    transfers: page.rows.map((row) => toTransfer(scope, row)),
    pageKey,
    totalCount,
    page_key: pageKey,
    total_count: totalCount,
    valid_at: toValidAt(scope.snapshot),
    coverage,
  })
})

interface Range {
  readonly first: number
  readonly last: number
}

function rangeOf({ snapshot }: NftScope, { from_block = 0, to_block = snapshot.number }: Parameters): Range {
  return { first: from_block, last: Math.min(to_block, snapshot.number) }
}

/** Where to look: of the filters the one that has the fewest transfers. */
async function streamsOf(scope: NftScope, parameters: Parameters): Promise<readonly Stream[]> {
  const { contract_addresses = [], from_address, to_address } = parameters
  const choices = [
    [...new Set(contract_addresses)].map((contract): Stream => ({ kind: 'contract', key: contract.slice(2) })),
    from_address === undefined ? [] : [{ kind: 'from', key: from_address.slice(2) } as const],
    to_address === undefined ? [] : [{ kind: 'to', key: to_address.slice(2) } as const],
    // Nothing is kept of the zero address, which everything is made at.
  ].filter((streams) => streams.length > 0 && streams.every(({ key }) => key !== ZEROS))
  const [only] = choices
  if (only === undefined) return [{ kind: 'all', key: ZEROS }]
  if (choices.length === 1) return only
  const counts = await Promise.all(choices.map((streams) => countStreams(scope, streams, scope.snapshot.number)))
  const least = counts.map(({ transfers }) => transfers)
  return choices[least.indexOf(Math.min(...least))] ?? only
}

interface Counts {
  readonly transfers: number
  readonly singles: number
}

/** How many transfers streams have up to a block. */
async function countStreams(scope: NftScope, streams: readonly Stream[], number: number): Promise<Counts> {
  const each = streams.map(
    ({ kind, key }) => `SELECT transfers, singles FROM (
      SELECT transfers, singles FROM nft_transfer_totals
      WHERE chain = {chain:String} AND start = {start:UInt64} AND kind = '${kind}' AND key = unhex('${key}')
        AND block_number <= {number:UInt64} AND ${scope.standing.notReverted}
      ORDER BY block_number DESC LIMIT 1
    )`,
  )
  const rows = await scope.warehouse.query<{ transfers: string; singles: string }>(each.join(' UNION ALL '), {
    ...foldParams(scope),
    number: Math.max(0, number),
  })
  const sum = (name: 'transfers' | 'singles') => rows.reduce((total, row) => total + Number(row[name]), 0)
  return { transfers: sum('transfers'), singles: sum('singles') }
}

/** Of all pages together; null where nobody has counted, and there are too many to. */
async function countTransfers(
  scope: NftScope,
  streams: readonly Stream[],
  parameters: Parameters,
): Promise<number | null> {
  const { first, last } = rangeOf(scope, parameters)
  if (last < first) return 0
  const [upTo, before] = await Promise.all([
    countStreams(scope, streams, last),
    first === 0 ? { transfers: 0, singles: 0 } : countStreams(scope, streams, first - 1),
  ])
  const all = upTo.transfers - before.transfers
  const singles = upTo.singles - before.singles
  const category = new Set(parameters.category ?? [])
  if (otherFilters(streams, parameters).length === 0) {
    if (category.size !== 1) return all
    return category.has('ERC721') ? singles : all - singles
  }
  if (all > COUNTED_ROWS_MAX) return null
  const each = streams.map((stream) => {
    const { table, where } = placeOf(stream)
    return `SELECT DISTINCT block_number, log_index, batch_index FROM ${table}
      WHERE ${where} AND ${inRange(scope)} AND ${[...filtersOf(streams, parameters), '1'].join(' AND ')}`
  })
  const [row] = await scope.warehouse.query<{ count: string }>(
    `SELECT count() AS count FROM (${each.join(' UNION ALL ')})`,
    rangeParams(scope, parameters),
  )
  return Number(row?.count ?? 0)
}

/** What is looked for in rows, beside the streams and the category. */
function otherFilters(streams: readonly Stream[], parameters: Parameters): readonly string[] {
  const { contract_addresses = [], from_address, to_address, without_reasons } = parameters
  const kind = streams[0]?.kind
  const columns = COLUMNS[kind === 'from' || kind === 'to' ? kind : 'others']
  const equals = (column: string, address: string) => `${column} = unhex('${address.slice(2)}')`
  return [
    ...(kind === 'contract' || contract_addresses.length === 0
      ? []
      : [`contract IN (${contract_addresses.map((contract) => `unhex('${contract.slice(2)}')`).join(', ')})`]),
    ...(kind === 'from' || from_address === undefined ? [] : [equals(columns.from, from_address)]),
    ...(kind === 'to' || to_address === undefined ? [] : [equals(columns.to, to_address)]),
    ...(without_reasons ? ["reasons = ''"] : []),
  ]
}

function filtersOf(streams: readonly Stream[], parameters: Parameters): readonly string[] {
  const category = [...new Set(parameters.category ?? [])]
  return [...otherFilters(streams, parameters), ...(category.length === 1 ? [`standard = '${category[0]}'`] : [])]
}

/** Where the tables have sender and receiver. */
const COLUMNS = {
  from: { from: 'account', to: 'other' },
  to: { from: 'other', to: 'account' },
  others: { from: 'from_address', to: 'to_address' },
} as const

function placeOf({ kind, key }: Stream): { readonly table: string; readonly where: string } {
  const ofFold = 'chain = {chain:String} AND start = {start:UInt64}'
  switch (kind) {
    case 'all':
      return { table: 'nft_folded_transfers', where: ofFold }
    case 'contract':
      return { table: 'nft_contract_transfers', where: `${ofFold} AND contract = unhex('${key}')` }
    case 'from':
    case 'to':
      return { table: 'nft_account_transfers', where: `${ofFold} AND account = unhex('${key}') AND side = '${kind}'` }
  }
}

const inRange = ({ standing }: NftScope): string =>
  `block_number >= {first:UInt64} AND block_number <= {last:UInt64} AND ${standing.notReverted}`

function rangeParams(scope: NftScope, parameters: Parameters): QueryParams {
  return { ...foldParams(scope), ...rangeOf(scope, parameters) }
}

interface Row {
  readonly contract: string
  readonly token_id: string
  readonly standard: Standard
  readonly event: string
  readonly sent_from: string
  readonly sent_to: string
  readonly amount: string
  readonly sender: string
  readonly reasons: string
  readonly block_number: string
  readonly block_hash: string
  readonly time_sec: number
  readonly transaction_hash: string
  readonly transaction_index: number
  readonly log_index: string
  readonly batch_index: string
}

interface Looked extends Row {
  readonly stream: number
  readonly fits: number
  readonly looked_at: string
  readonly is_end: number
}

interface Found {
  readonly rows: readonly Row[]
  readonly next: Place | undefined
}

async function selectTransfers(scope: NftScope, streams: readonly Stream[], parameters: Parameters): Promise<Found> {
  const { max_count: limit } = parameters
  const { first, last } = rangeOf(scope, parameters)
  if (last < first) return { rows: [], next: undefined }
  const rows: Row[] = []
  let behind = scope.after
  const fitsAll = filtersOf(streams, parameters).length === 0
  const looks = fitsAll ? [(limit + 1) * streams.length] : LOOKED_AT
  for (const lookedAt of looks) {
    const each = Math.max(Math.ceil(lookedAt / streams.length), 2)
    const look = await lookAt(scope, { streams, parameters, behind, each, limit: limit + 1 - rows.length })
    rows.push(...look.rows)
    if (rows.length > limit) return { rows: rows.slice(0, limit), next: placeOfRow(rows[limit - 1] as Row) }
    if (look.end === undefined) return { rows, next: undefined }
    behind = look.end
  }
  return { rows, next: behind }
}

interface Look {
  readonly streams: readonly Stream[]
  readonly parameters: Parameters
  readonly behind: Place | undefined
  /** Rows of each stream. */
  readonly each: number
  readonly limit: number
}

/** Rows that fit among the next ones of each stream, up to where all streams were looked at; `end` is that place, if there is more. */
async function lookAt(scope: NftScope, { streams, parameters, behind, each, limit }: Look) {
  const isAscending = parameters.order !== 'desc'
  const direction = isAscending ? 'ASC' : 'DESC'
  const order = ['block_number', 'log_index', 'batch_index'].map((column) => `${column} ${direction}`).join(', ')
  const fits = [...filtersOf(streams, parameters), '1'].join(' AND ')
  const parts = streams.map((stream, i) => {
    const { table, where } = placeOf(stream)
    const columns = COLUMNS[stream.kind === 'from' || stream.kind === 'to' ? stream.kind : 'others']
    return `SELECT ${i} AS stream, ${fits} AS fits, count() OVER () AS looked_at,
        row_number() OVER (ORDER BY ${order}) AS place,
        contract, token_id, standard, event, ${columns.from} AS sent_from, ${columns.to} AS sent_to, amount, sender, reasons,
        block_number, block_hash, time, transaction_hash, transaction_index, log_index, batch_index
      FROM (
        SELECT * FROM ${table} WHERE ${where} AND ${inRange(scope)}${behind === undefined ? '' : ` AND (${isBehind(isAscending)})`}
        ORDER BY ${order} LIMIT 1 BY block_number, log_index, batch_index LIMIT ${each}
      )`
  })
  const hex = (column: string) => `concat('0x', lower(hex(${column}))) AS ${column}`
  const found = await scope.warehouse.query<Looked>(
    `SELECT stream, fits, toString(looked_at) AS looked_at, place = t.looked_at AS is_end, toString(standard) AS standard, toString(event) AS event, toString(amount) AS amount,
       toString(reasons) AS reasons, toUnixTimestamp(time) AS time_sec, transaction_index,
       ${['contract', 'token_id', 'sent_from', 'sent_to', 'sender', 'block_hash', 'transaction_hash'].map(hex).join(', ')},
       toString(t.block_number) AS block_number, toString(t.log_index) AS log_index, toString(t.batch_index) AS batch_index
     FROM (${parts.join(' UNION ALL ')}) AS t
     WHERE fits OR place = t.looked_at
     ORDER BY t.block_number ${direction}, t.log_index ${direction}, t.batch_index ${direction}
     LIMIT ${limit + streams.length}
     SETTINGS max_block_size = ${READ_ROWS}, read_in_order_use_buffering = 0, max_threads = 1`,
    { ...rangeParams(scope, parameters), ...behindParams(behind) },
  )
  // The earliest end of a stream that has more: behind it rows of that stream are not known.
  const ends = found.filter((row) => row.is_end === 1 && Number(row.looked_at) >= each)
  const [end] = ends
  const upToEnd = end === undefined ? found : found.slice(0, found.indexOf(end) + 1)
  const rows = upToEnd.filter((row) => row.fits === 1)
  const isCut = found.length === limit + streams.length
  return {
    rows: rows.slice(0, limit),
    end: end === undefined && !isCut ? undefined : placeOfRow((end ?? found.at(-1)) as Row),
  }
}

function isBehind(isAscending: boolean): string {
  const sign = isAscending ? '>' : '<'
  const [block, log, batch] = ['{behind0:UInt64}', '{behind1:UInt32}', '{behind2:UInt32}']
  return `(block_number ${sign} ${block}) OR (block_number = ${block} AND log_index ${sign} ${log})
    OR (block_number = ${block} AND log_index = ${log} AND batch_index ${sign} ${batch})`
}

function behindParams(behind: Place | undefined): QueryParams {
  return Object.fromEntries((behind ?? []).map((value, i) => [`behind${i}`, Number(value)]))
}

function placeOfRow({ block_number, log_index, batch_index }: Row): Place {
  return [block_number, log_index, batch_index]
}

function toTransfer(scope: NftScope, row: Row): Transfer {
  return {
    contract_address: row.contract,
    token_id: tokenText(row.token_id),
    token_type: row.standard,
    token_index: Number(row.batch_index),
    amount: row.amount,
    event_type: row.event,
    from: row.sent_from,
    to: row.sent_to,
    send: row.sent_from,
    receive: row.sent_to,
    sender: row.sender === `0x${ZEROS}` ? null : row.sender,
    reasons: row.reasons === '' ? [] : (row.reasons.split(',') as Transfer['reasons']),
    block_number: Number(row.block_number),
    block_hash: row.block_hash,
    block_timestamp: row.time_sec,
    tx_hash: row.transaction_hash,
    tx_index: row.transaction_index,
    tx_timestamp: row.time_sec,
    log_index: Number(row.log_index),
    finality: finalityOf(scope, row.block_number),
  }
}
