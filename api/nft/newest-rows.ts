export interface Versioned {
  readonly version: string
}

/** On the rows themselves: what hangs on a weak map lives until V8 looks through its whole heap, as do the rows. */
const FOUND = Symbol('what was found of the rows')

/** What `find` finds of rows that several questions share, found once: rows have one `find`. */
export function foundOnce<Row, Found>(
  rows: readonly Row[] & { [FOUND]?: Found },
  find: (rows: readonly Row[]) => Found,
): Found {
  rows[FOUND] ??= find(rows)
  return rows[FOUND]
}

/** Whether a row was written later than another one of its key: older ones may not have been merged away yet. */
export const isNewer = (row: Versioned, other: Versioned | undefined): boolean =>
  other === undefined || BigInt(row.version) > BigInt(other.version)
