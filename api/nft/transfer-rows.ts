import type { Static } from 'typebox'
import type { QueryParams } from '../../infra/ports/warehouse.ts'
import { type getAssetsTransferRoute, TRANSFER_REASONS } from '../../schemas/routes/nft/transfers.ts'
import { askedReasons } from '../../schemas/routes/nft/without-reasons.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'
import type { TransferList } from '../../schemas/tables/nft.ts'
import { REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'
import { STATEMENT_TEXT_MAX } from '../../schemas/tables/statement-parts.ts'
import { FEW_ROWS_AT_ONCE, inOrderSettings, lookUp } from '../http/lookups.ts'
import type { NftScope } from './asking.ts'
import { foldParams, foldSql } from './literals.ts'
import type { Standard } from './metadata.ts'

// Rows of transfers, in the order of the chain, of each place where they lie together.

export type Parameters = Static<typeof getAssetsTransferRoute.parameters>

/** Transfers of one contract, or of one account on one side, or of all: they lie together, in the order of the chain. */
export interface Stream {
  readonly kind: TransferList
  /** Hex without 0x. */
  readonly key: string
}

/** Block, log, and place in it, as text. */
export type Place = readonly string[]

const READ_ROWS = 1_024
const MANY_STREAMS = 8

interface Range {
  readonly first: number
  readonly last: number
}

export function rangeOf({ snapshot }: NftScope, { from_block = 0, to_block = snapshot.number }: Parameters): Range {
  return { first: from_block, last: Math.min(to_block, snapshot.number) }
}

/** What is looked for in rows, beside the streams and the category. */
export function otherFilters(streams: readonly Stream[], parameters: Parameters): readonly string[] {
  const { contract_addresses = [], from_address, to_address, without_reasons } = parameters
  const kind = streams[0]?.kind
  const equals = (column: string, address: string) => `${column} = ${bytesSql(address.slice(2))}`
  return [
    ...(kind === 'contract' || contract_addresses.length === 0
      ? []
      : [`contract IN (${contract_addresses.map((contract) => bytesSql(contract.slice(2))).join(', ')})`]),
    ...(kind === 'from' || from_address === undefined ? [] : [equals('from_address', from_address)]),
    ...(kind === 'to' || to_address === undefined ? [] : [equals('to_address', to_address)]),
    ...withoutSql(askedReasons(without_reasons, TRANSFER_REASONS)),
  ]
}

function withoutSql(reasons: readonly string[]): readonly string[] {
  if (reasons.length === 0) return []
  if (reasons.length === TRANSFER_REASONS.length) return ["reasons = ''"]
  return [`NOT hasAny(splitByChar(',', toString(reasons)), ['${reasons.join("', '")}'])`]
}

export function filtersOf(streams: readonly Stream[], parameters: Parameters): readonly string[] {
  const category = [...new Set(parameters.category ?? [])]
  return [...otherFilters(streams, parameters), ...(category.length === 1 ? [`standard = '${category[0]}'`] : [])]
}

export const LISTS = 'nft_transfer_lists'

/** Transfers of a list, whose key is hex without 0x. */
export const inList = (kind: TransferList, key: string): string => `kind = '${kind}' AND key = ${bytesSql(key)}`

export const inRange = ({ standing }: NftScope): string =>
  `block_number >= {first:UInt64} AND block_number <= {last:UInt64} AND ${standing.notReverted}`

export function rangeParams(scope: NftScope, parameters: Parameters): QueryParams {
  return { ...foldParams(scope), ...rangeOf(scope, parameters) }
}

export interface Row {
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

interface Look {
  readonly streams: readonly Stream[]
  readonly parameters: Parameters
  readonly behind: Place | undefined
  /** Rows of each stream. */
  readonly each: number
  readonly limit: number
}

/** Of reverted blocks, or written twice: more than most pages have. */
const SPARE_ROWS = 30

/** The next rows of a stream that all fit. */
export async function lookAtOne(scope: NftScope, stream: Stream, { parameters, behind, limit }: Look) {
  const { warehouse, chain, standing } = scope
  const { first, last } = rangeOf(scope, parameters)
  const isAscending = parameters.order !== 'desc'
  const most = limit + SPARE_ROWS
  const select = (counting: string) =>
    `SELECT ${COLUMNS}
     FROM ${LISTS}
     WHERE ${foldSql(scope)} AND ${inList(stream.kind, stream.key)} AND block_number >= ${first} AND block_number <= ${last}
       ${behind === undefined ? '' : `AND (${isBehind(isAscending, behind)})`}${counting}
     ORDER BY ${orderOf(isAscending)} LIMIT ${most}`
  let found = await lookUp<FlatRow>(warehouse, `stretch of ${LISTS}`, select(''))
  let counted = countedRows(scope, found, limit)
  // So many are of reverted blocks that the last one may have another at its place, behind it, that counts.
  if (counted.length < limit && found.length === most) {
    found = await warehouse.query<FlatRow>(select(` AND ${standing.notReverted}`), { chain })
    counted = countedRows(scope, found, limit)
  }
  const end = counted.length < limit ? found.at(-1) : counted.at(-1)
  return {
    rows: counted.map(toRow),
    end: found.length < most || end === undefined ? undefined : placeOfRow(end),
  }
}

/** The first rows that count, each once. */
function countedRows({ standing }: NftScope, found: readonly FlatRow[], limit: number): readonly FlatRow[] {
  const rows = new Map<string, FlatRow>()
  for (const row of found) if (!standing.isReverted(row.of_block)) rows.set(placeOfRow(row).join(' '), row)
  return [...rows.values()].slice(0, limit)
}

const COLUMNS = `hex(contract) AS of_contract, hex(token_id) AS of_token, standard, event, hex(from_address) AS hex_from,
  hex(to_address) AS hex_to, amount, hex(sender) AS hex_sender, reasons, block_number, hex(block_hash) AS of_block,
  toUnixTimestamp(time) AS time_sec, hex(transaction_hash) AS of_transaction, transaction_index, log_index, batch_index`

/** Bytes in hex as the engine writes it; under names that no column has, or they would stand for it. */
interface FlatRow extends Pick<Row, 'standard' | 'event' | 'amount' | 'reasons' | 'time_sec' | 'transaction_index'> {
  readonly of_contract: string
  readonly of_token: string
  readonly hex_from: string
  readonly hex_to: string
  readonly hex_sender: string
  readonly of_block: string
  readonly of_transaction: string
  readonly block_number: string
  readonly log_index: number
  readonly batch_index: number
}

function toRow(row: FlatRow): Row {
  const hex = (text: string) => `0x${text.toLowerCase()}`
  return {
    ...row,
    contract: hex(row.of_contract),
    token_id: hex(row.of_token),
    sent_from: hex(row.hex_from),
    sent_to: hex(row.hex_to),
    sender: hex(row.hex_sender),
    block_hash: hex(row.of_block),
    transaction_hash: hex(row.of_transaction),
    log_index: String(row.log_index),
    batch_index: String(row.batch_index),
  }
}

export const orderOf = (isAscending: boolean): string =>
  ['block_number', 'log_index', 'batch_index'].map((column) => `${column} ${isAscending ? 'ASC' : 'DESC'}`).join(', ')

/** A row that fits, or the last one that was looked at of a stream that has more. */
interface LookedRow extends FlatRow {
  readonly fits: number
  readonly is_cut: number
}

/** Rows that fit among the next ones of each stream, up to where all streams were looked at; `end` is that place, if there is more. */
export async function lookAt(scope: NftScope, look: Look) {
  const { isOfReverted, ...looked } = upToEnd(scope, look, await readStreams(scope, look, ''))
  if (!isOfReverted) return looked
  const { notReverted } = scope.standing
  // Each stream has the condition.
  const isLong = look.streams.length * notReverted.length > STATEMENT_TEXT_MAX / 2
  const counting = isLong ? `block_hash NOT IN (${REVERTED_SQL})` : notReverted
  const { rows, end } = upToEnd(scope, look, await readStreams(scope, look, ` AND ${counting}`))
  return { rows, end }
}

async function readStreams(
  scope: NftScope,
  { streams, parameters, behind, each, limit }: Look,
  counting: string,
): Promise<{ readonly found: readonly LookedRow[]; readonly isCut: boolean }> {
  const order = orderOf(parameters.order !== 'desc')
  const { first, last } = rangeOf(scope, parameters)
  const fits = [...filtersOf(streams, parameters), '1'].join(' AND ')
  const parts = streams.map(
    ({ kind, key }, i) => `SELECT ${i} AS stream, ${fits} AS fits, ${COLUMNS}
      FROM ${LISTS}
      WHERE ${foldSql(scope)} AND ${inList(kind, key)} AND block_number >= ${first} AND block_number <= ${last}
        ${behind === undefined ? '' : `AND (${isBehind(parameters.order !== 'desc', behind)})`}${counting}
      ORDER BY ${order} LIMIT ${each}`,
  )
  const most = limit + SPARE_ROWS + streams.length
  const found = await scope.warehouse.query<LookedRow>(
    `SELECT * FROM (
       SELECT *, row_number() OVER (PARTITION BY stream ORDER BY ${order}) = ${each} AS is_cut FROM (${parts.join(' UNION ALL ')})
     )
     WHERE fits OR is_cut ORDER BY ${order} LIMIT ${most}
     ${inOrderSettings(streams.length > MANY_STREAMS ? FEW_ROWS_AT_ONCE : READ_ROWS)}`,
    foldParams(scope),
  )
  return { found, isCut: found.length === most }
}

function upToEnd(
  scope: NftScope,
  { parameters, limit }: Look,
  { found, isCut }: { readonly found: readonly LookedRow[]; readonly isCut: boolean },
) {
  // Behind the first end of a stream that has more, rows of that stream are not known.
  const cut = found.findIndex((row) => row.is_cut === 1)
  const end = cut >= 0 ? found[cut] : isCut ? found.at(-1) : undefined
  const seen = cut >= 0 ? found.slice(0, cut + 1) : found
  const rows = countedRows(
    scope,
    seen.filter(({ fits }) => fits === 1),
    limit,
  )
  if (end === undefined) return { rows: rows.map(toRow), end, isOfReverted: false }
  const place = placeOfRow(end)
  // A row of a reverted block may have one that counts behind it, at its place.
  const isSeen = rows.some((row) => placeOfRow(row).join() === place.join())
  return {
    rows: rows.map(toRow),
    end: isSeen ? place : placeBefore(place, parameters.order !== 'desc'),
    // Nothing was found, as a stream was looked at no further than in blocks that do not count.
    isOfReverted: rows.length === 0 && scope.standing.isReverted(end.of_block),
  }
}

/** What lies between a place and the one before it. */
function placeBefore([block = '', log = '', batch = '']: Place, isAscending: boolean): Place {
  return [block, log, String(Number(batch) + (isAscending ? -1 : 1))]
}

function isBehind(isAscending: boolean, behind: Place): string {
  const sign = isAscending ? '>' : '<'
  const [block, log, batch] = behind.map(Number)
  return `(block_number ${sign} ${block}) OR (block_number = ${block} AND log_index ${sign} ${log})
    OR (block_number = ${block} AND log_index = ${log} AND batch_index ${sign} ${batch})`
}

export function placeOfRow({
  block_number,
  log_index,
  batch_index,
}: Pick<FlatRow | Row, 'block_number' | 'log_index' | 'batch_index'>): Place {
  return [block_number, String(log_index), String(batch_index)]
}
