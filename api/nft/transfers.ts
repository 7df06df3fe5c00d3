import { getAssetsTransferRoute, type Transfer } from '../../schemas/routes/nft/transfers.ts'
import type { TransferList } from '../../schemas/tables/nft.ts'
import { tokenText } from './amounts.ts'
import { answered, type NftScope, nftOperation, toValidAt } from './asking.ts'
import { selectCounts, selectManyCounts } from './counts.ts'
import { coverageOf, finalityOf } from './coverage.ts'
import { foldSql } from './literals.ts'
import { placeOfTotal } from './totals.ts'
import {
  filtersOf,
  inList,
  inRange,
  LISTS,
  lookAt,
  lookAtOne,
  otherFilters,
  type Parameters,
  type Place,
  placeOfRow,
  type Row,
  rangeOf,
  rangeParams,
  type Stream,
} from './transfer-rows.ts'

const ZEROS = '00'.repeat(20)
/** Rows that are looked at, of all streams together, one time after the other, where not each of them fits. */
const LOOKED_AT = [4_000, 12_000, 24_000] as const
/** Rows that are read of a stream before those that are looked at, about: they begin anywhere in a piece of 1,024. */
const ROWS_BEFORE = 700
/** Of several streams, with the rows before, in all looks: a page of them is shorter than asked for. */
const ROWS_OF_SEVERAL_MAX = 36_000
/** Transfers of a list that are counted one by one where no count is kept; of several lists with the pieces that they begin and end in. */
const COUNTED_ROWS_MAX = 20_000
const ROWS_OF_ENDS = 2_048
/** Counts that one page looks up, each a place of its own. */
const COUNTS_MAX = 60

export const getAssetsTransfer = nftOperation(getAssetsTransferRoute, async (parameters, scope) => {
  const choices = choicesOf(parameters)
  const streams = await streamsOf(scope, choices)
  const isFirst = scope.after === undefined
  const { contract_addresses: asked = [] } = parameters
  const [page, ofLater] = await Promise.all([
    selectTransfers(scope, streams, parameters),
    isFirst ? undefined : countTransfers(scope, { choices, streams }, parameters),
  ])
  const coverage = await coverageOf(scope, { asked, told: page.rows.map(({ contract }) => contract) })
  // What is on one page is counted with it.
  const isAll = isFirst && page.next === undefined
  const counted = isAll ? page.rows.length : ofLater
  const known = counted === undefined ? await countTransfers(scope, { choices, streams }, parameters) : counted
  const totalCount = coverage.is_whole ? known : null
  const pageKey = page.next === undefined ? null : scope.pageKeyAfter(page.next)
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

/** Where one may look, by each of the filters; where there is none, among all. */
function choicesOf(parameters: Parameters): readonly (readonly Stream[])[] {
  const { contract_addresses = [], from_address, to_address } = parameters
  const choices = [
    [...new Set(contract_addresses)].map((contract): Stream => ({ kind: 'contract', key: contract.slice(2) })),
    from_address === undefined ? [] : [{ kind: 'from', key: from_address.slice(2) } as const],
    to_address === undefined ? [] : [{ kind: 'to', key: to_address.slice(2) } as const],
    // Nothing is kept of the zero address, which everything is made at.
  ].filter((streams) => streams.length > 0 && streams.every(({ key }) => key !== ZEROS))
  return choices.length === 0 ? [[{ kind: 'all', key: ZEROS }]] : choices
}

/** Where to look: of the choices the one that has the fewest transfers. */
async function streamsOf(scope: NftScope, choices: readonly (readonly Stream[])[]): Promise<readonly Stream[]> {
  const [only = []] = choices
  if (choices.length === 1) return only
  const counts = await Promise.all(choices.map((streams) => countStreams(scope, streams, scope.snapshot.number)))
  const least = counts.map(({ transfers }) => transfers)
  return choices[least.indexOf(Math.min(...least))] ?? only
}

/** Where the transfers of a stream are counted. */
function placeOfCounts(kind: TransferList, key: string) {
  switch (kind) {
    case 'all':
      return { table: 'nft_blocks', where: '1', columns: ['transfers', 'singles'] } as const
    case 'contract':
      return { ...placeOfTotal('contract', key), columns: ['sent', 'sent_singles'] } as const
    case 'from':
      return { ...placeOfTotal('account', key), columns: ['sent', 'sent_singles'] } as const
    case 'to':
      return { ...placeOfTotal('account', key), columns: ['received', 'received_singles'] } as const
  }
}

interface Counts {
  readonly transfers: number
  readonly singles: number
}

/** How many transfers streams have up to a block. */
async function countStreams(scope: NftScope, streams: readonly Stream[], number: number): Promise<Counts> {
  const places = streams.map(({ kind, key }) => ({ ...placeOfCounts(kind, key), number: Math.max(0, number) }))
  const [only] = places
  const counts =
    places.length === 1 && only !== undefined
      ? [await selectCounts(scope, only)]
      : await selectManyCounts(scope, places)
  const sum = (name: 'first' | 'second') => counts.reduce((total, row) => total + Number(row?.[name] ?? 0), 0)
  return { transfers: sum('first'), singles: sum('second') }
}

/** Of all pages together; null where nobody has counted, and there are too many to. */
async function countTransfers(
  scope: NftScope,
  { choices, streams }: { readonly choices: readonly (readonly Stream[])[]; readonly streams: readonly Stream[] },
  parameters: Parameters,
): Promise<number | null> {
  const { first, last } = rangeOf(scope, parameters)
  if (last < first) return 0
  const chosen = choices.length === 1 ? 0 : choices.flat().length
  const isCounted = chosen > 0 && last === scope.snapshot.number
  const perStream = (isCounted ? 0 : 1) + (first === 0 ? 0 : 1)
  if (chosen + perStream * streams.length > COUNTS_MAX) return null
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
  if (all + (streams.length - 1) * ROWS_OF_ENDS > COUNTED_ROWS_MAX) return null
  const fits = [...filtersOf(streams, parameters), '1'].join(' AND ')
  const each = streams.map(
    ({ kind, key }) => `SELECT DISTINCT block_number, log_index, batch_index FROM ${LISTS}
      WHERE ${foldSql(scope)} AND ${inList(kind, key)} AND ${inRange(scope)} AND ${fits}`,
  )
  const [row] = await scope.warehouse.query<{ count: string }>(
    `SELECT count() AS count FROM (${each.join(' UNION ALL ')})`,
    rangeParams(scope, parameters),
  )
  return Number(row?.count ?? 0)
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
  const [only] = streams
  const fitsAll = filtersOf(streams, parameters).length === 0
  for (const each of looksOf(streams, fitsAll ? [(limit + 1) * streams.length] : LOOKED_AT)) {
    const wanted = { streams, parameters, behind, each, limit: limit + 1 - rows.length }
    const isPlain = fitsAll && streams.length === 1 && only !== undefined
    const look = await (isPlain ? lookAtOne(scope, only, wanted) : lookAt(scope, wanted))
    rows.push(...look.rows)
    if (rows.length > limit) return { rows: rows.slice(0, limit), next: placeOfRow(rows[limit - 1] as Row) }
    if (look.end === undefined) return { rows, next: undefined }
    behind = look.end
  }
  return { rows, next: behind }
}

/** How many rows of each stream are looked at, one time after the other. */
function looksOf({ length: streams }: readonly Stream[], wanted: readonly number[]): readonly number[] {
  if (streams === 1) return wanted
  const looks: number[] = []
  let left = ROWS_OF_SEVERAL_MAX
  for (const lookedAt of wanted) {
    const each = Math.floor(Math.min(lookedAt, left - streams * ROWS_BEFORE) / streams)
    if (each < 2) break
    looks.push(each)
    left -= streams * (each + ROWS_BEFORE)
  }
  return looks
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
