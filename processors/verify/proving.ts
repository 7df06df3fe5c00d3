import type { QueryParams, WarehouseReader } from '../../infra/ports/warehouse.ts'

/** How figures are proven. */
export interface Proving {
  /** Only figures of this chain; of all where it is empty. */
  readonly chain: string
  /** Asked when a statement has found something wrong: true to ask it once more, when what is being written has been. */
  readonly again: () => Promise<boolean>
}

/** Everything, once. */
export const PROVE_ALL: Proving = { chain: '', again: async () => false }

/** Wrong figures that are told one by one. */
const EXAMPLES_MAX = 20

/** A statement that has a row for each figure that it looks at. */
export interface Checking {
  readonly sql: string
  /** A condition on its columns: the figure does not hold. */
  readonly isWrong: string
  /** Columns by which the first of those are told. */
  readonly order: string
  /** What ends the statement. */
  readonly settings?: string
}

export interface Checked<Row> {
  readonly checked: number
  readonly wrong: number
  /** The first of them. */
  readonly examples: readonly Row[]
}

/** Counts figures and those that do not hold, in one range of them after the other. */
export async function checkRanges<Row>(
  warehouse: WarehouseReader,
  checking: Checking,
  { ranges, again }: Pick<Proving, 'again'> & { readonly ranges: Iterable<QueryParams> },
): Promise<Checked<Row>> {
  let [checked, wrong] = [0, 0]
  const examples: Row[] = []
  for (const range of ranges) {
    let part = await checkRange<Row>(warehouse, checking, range)
    while (part.wrong > 0 && (await again())) part = await checkRange<Row>(warehouse, checking, range)
    checked += part.checked
    wrong += part.wrong
    examples.push(...part.examples.slice(0, EXAMPLES_MAX - examples.length))
  }
  return { checked, wrong, examples }
}

async function checkRange<Row>(
  warehouse: WarehouseReader,
  { sql, isWrong, order, settings = '' }: Checking,
  range: QueryParams,
): Promise<Checked<Row>> {
  const [counts] = await warehouse.query<{ checked: string; wrong: string }>(
    `SELECT count() AS checked, countIf(${isWrong}) AS wrong FROM (${sql})${settings}`,
    range,
  )
  const wrong = Number(counts?.wrong ?? 0)
  const examples =
    wrong === 0
      ? []
      : await warehouse.query<Row>(
          `SELECT * FROM (${sql}) WHERE ${isWrong} ORDER BY ${order} LIMIT ${EXAMPLES_MAX}`,
          range,
        )
  return { checked: Number(counts?.checked ?? 0), wrong, examples }
}
