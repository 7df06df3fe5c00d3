export interface Versioned {
  readonly version: string
}

/** Of each key the row that was written last: older ones may not have been merged away yet. */
export function newestOf<Row extends Versioned>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): ReadonlyMap<string, Row> {
  const newest = new Map<string, Row>()
  for (const row of rows) {
    const key = keyOf(row)
    const known = newest.get(key)
    if (known === undefined || BigInt(row.version) > BigInt(known.version)) newest.set(key, row)
  }
  return newest
}
