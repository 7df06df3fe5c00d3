import { inTexts } from '../http/lookups.ts'
import type { Held } from './arrivals.ts'
import type { NftPin } from './asking.ts'
import { indexedSince } from './coverage.ts'
import { foldSql } from './literals.ts'
import { placeOfTotal, TOTALS } from './totals.ts'

/** So many blocks before and after the one in which a token came. */
export const AROUND_BLOCKS = 100
/** Holders that a contract has more at the end of these blocks than at their beginning. */
export const MANY_NEW_HOLDERS = 1_000
const READ_ROWS = 1_024

/** Pairs of contract and block that one page looks for, where nothing else is looked up for them, and where how they came is. */
export const COMINGS_MAX = { alone: 25, withArrival: 10 } as const

interface Row {
  readonly key: string
  readonly new_holders: string
  /** Whether the rows reach back before the blocks, or to the contract's first one. */
  readonly is_known: number
}

/** A contract and the block in which tokens of it came. */
export const comingOf = ({ contract, sinceBlock }: Pick<Held, 'contract' | 'sinceBlock'>): string =>
  `${contract} ${sinceBlock}`

/** Whether many others came to hold tokens of its contract when each token came, by `comingOf`; none where nobody can tell. */
export async function manyNewHolders(pin: NftPin, tokens: readonly Held[]): Promise<ReadonlyMap<string, boolean>> {
  const isIndexed = await indexedSince(
    pin,
    tokens.map(({ contract }) => contract),
  )
  const selects = new Map<string, string>()
  for (const { contract, sinceBlock } of tokens)
    if (sinceBlock !== undefined && isIndexed(contract))
      selects.set(comingOf({ contract, sinceBlock }), newHoldersSql(pin, contract, sinceBlock))
  const each = [...selects].map(([key, select]) => `SELECT '${key}' AS key, * FROM (${select})`)
  const rows: Row[] = []
  for (const some of inTexts(each)) {
    const found = await pin.warehouse.query<Row>(
      `${some.join(' UNION ALL ')} SETTINGS max_block_size = ${READ_ROWS}, read_in_order_use_buffering = 0, max_threads = 1`,
    )
    rows.push(...found)
  }
  const known = rows.filter(({ is_known }) => is_known === 1)
  return new Map(known.map(({ key, new_holders }) => [key, Number(new_holders) >= MANY_NEW_HOLDERS]))
}

/** A contract has a row at most for each block, and the one before them tells how many held its tokens then. */
function newHoldersSql(pin: NftPin, contract: string, sinceBlock: number): string {
  const last = Math.min(sinceBlock + AROUND_BLOCKS, pin.snapshot.number)
  const before = sinceBlock - AROUND_BLOCKS - 1
  const rows = last - before + 1
  const isBefore = `block_number <= ${before}`
  return `SELECT toString(toInt64(argMax(others, block_number)) - toInt64(argMaxIf(others, block_number, ${isBefore}))) AS new_holders,
      countIf(${isBefore}) > 0 OR count() < ${rows} AS is_known
    FROM (
      SELECT others, block_number FROM ${TOTALS}
      WHERE ${foldSql(pin)} AND ${placeOfTotal('contract', contract.slice(2)).where}
        AND block_number <= ${last} AND ${pin.standing.notReverted}
      ORDER BY block_number DESC LIMIT ${rows}
    )`
}
