export interface Versioned {
  readonly version: string
}

/** What was found of rows that several questions share. */
const found = new WeakMap<readonly Versioned[], ReadonlyMap<string, Versioned>>()

/** Of each key the row that was written last: older ones may not have been merged away yet. Rows have one kind of key. */
export function newestOf<Row extends Versioned>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): ReadonlyMap<string, Row> {
  const known = found.get(rows)
  if (known !== undefined) return known as ReadonlyMap<string, Row>
  const newest = new Map<string, Row>()
  for (const row of rows) {
    const key = keyOf(row)
    const other = newest.get(key)
    if (other === undefined || BigInt(row.version) > BigInt(other.version)) newest.set(key, row)
  }
  found.set(rows, newest)
  return newest
}
