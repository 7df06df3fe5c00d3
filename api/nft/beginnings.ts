import { hexKeys, lookUpKeys, rowsEach } from '../http/lookups.ts'
import type { NftPin } from './asking.ts'
import { foldSql } from './literals.ts'

/** What a list has all rows of: one value of a column, in the part of the table that `within` says. */
export interface Lead {
  readonly column: string
  /** Hex without 0x, lower-case. */
  readonly value: string
  /** As SQL, of the columns before; empty where there are none. */
  readonly within: string
}

interface Beginning {
  readonly table: string
  readonly lead: Lead
  /** As SQL. */
  readonly columns: string
  /** The rest of the sort key, as SQL. */
  readonly order: string
  readonly rows: number
}

/**
 * The first rows of a list, found by one look for all lists that are begun at the moment: of most accounts these are all. Undefined where
 * others' rows have taken their place.
 */
export async function selectBeginning<Row>(
  pin: NftPin,
  { table, lead: { column, value, within }, columns, order, rows }: Beginning,
): Promise<readonly Row[] | undefined> {
  const found = await lookUpKeys<Row & { readonly of_lead: string }>(
    pin.warehouse,
    `SELECT hex(${column}) AS of_lead, ${columns} FROM ${table}
     WHERE ${foldSql(pin)}${within === '' ? '' : ` AND ${within}`} AND ${column} IN (${hexKeys(value.length / 2)})
     ORDER BY ${column}, ${order} LIMIT ${rowsEach(rows)}`,
    value,
  )
  const own = value.toUpperCase()
  const first = found.findIndex(({ of_lead }) => of_lead === own)
  const mine = first === -1 ? [] : found.slice(first, first + rows).filter(({ of_lead }) => of_lead === own)
  // As many as a limit may have been: rows from the last list on may be missing.
  const isCut = found.length > 0 && found.length % rows === 0
  const last = found.at(-1)?.of_lead ?? ''
  return isCut && own >= last && mine.length < rows ? undefined : mine
}
