export interface Versioned {
  readonly version: string
}

/** On the rows themselves: what hangs on a weak map lives until V8 looks through its whole heap, as do the rows. */
const NEWEST = Symbol('the newest row of each key')

/** Rows that several questions share, with what was found of them. */
interface SharedRows<Row extends Versioned> extends ReadonlyArray<Row> {
  [NEWEST]?: ReadonlyMap<string, Row>
}

/** Of each key the row that was written last: older ones may not have been merged away yet. Rows have one kind of key. */
export function newestOf<Row extends Versioned>(
  rows: SharedRows<Row>,
  keyOf: (row: Row) => string,
): ReadonlyMap<string, Row> {
  const known = rows[NEWEST]
  if (known !== undefined) return known
  const newest = new Map<string, Row>()
  for (const row of rows) {
    const key = keyOf(row)
    const other = newest.get(key)
    if (other === undefined || BigInt(row.version) > BigInt(other.version)) newest.set(key, row)
  }
  rows[NEWEST] = newest
  return newest
}
