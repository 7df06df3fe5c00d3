import type { QueryParams, WarehouseReader } from '../../infra/ports/warehouse.ts'

/** Rows of one reading: a SELECT that has all columns of the comparison, in as many statements as it has ranges. */
export interface Rows {
  /** What they are called: a table, or what a table is made of. */
  readonly name: string
  /** Takes the parameters of its ranges, and `first_block` and `last_block`. */
  readonly sql: string
  readonly ranges: readonly QueryParams[]
}

/** Two readings that have the same rows, each once. */
export interface Comparison {
  /** Types by names; `block_number` is one of them. */
  readonly columns: Readonly<Record<string, string>>
  readonly made: Rows
  readonly told: Rows
  /** Parameters of all ranges together. */
  readonly whole: QueryParams
}

/** A row that was told and is not made, or more often than it is; or the other way round. */
export interface Difference {
  readonly block: number
  /** What has it and should not, or should have it and lacks it. */
  readonly table: string
  readonly isLacking: boolean
  readonly madeOf: string
  /** The row's columns, as text. */
  readonly row: string
}

export interface Compared {
  /** Of what was told. */
  readonly rows: number
  readonly differing: number
  /** The first of them. */
  readonly differences: readonly Difference[]
}

interface BlockSpan {
  readonly first: number
  readonly last: number
}

interface Sum {
  readonly rows: number
  /** Of a hash of each row, modulo 2^64: in whatever order they come. */
  readonly print: bigint
}

/** Stretches of blocks by which rows in different orders are compared: rows of one alone are named. */
const PLACES_MAX = 4_096
/** Rows that are named of one comparison. */
export const DIFFERENCES_MAX = 20
const WORD = 2n ** 64n
/** What a statement keeps in memory before it goes on on disk, as where millions of rows are of one contract. */
const SPILLING = ' SETTINGS max_bytes_before_external_group_by = 400000000, max_bytes_before_external_sort = 400000000'

/**
 * Compares both readings over the blocks of a span by counts and sums of hashes, which need no memory and no common order, stretch by stretch;
 * where they differ, the rows of the first such stretches are compared one by one.
 */
export async function compareRows(
  warehouse: WarehouseReader,
  comparison: Comparison,
  { first, last }: BlockSpan,
): Promise<Compared> {
  const width = Math.max(1, Math.ceil((last - first + 1) / PLACES_MAX))
  const span = { first_block: first, last_block: last, origin: first, width }
  const made = await sumsOf(warehouse, comparison, comparison.made, span)
  const told = await sumsOf(warehouse, comparison, comparison.told, span)
  const rows = [...told.values()].reduce((total, sum) => total + sum.rows, 0)
  const places = [...new Set([...made.keys(), ...told.keys()])].filter((place) => {
    const [one, other] = [made.get(place), told.get(place)]
    return one?.rows !== other?.rows || one?.print !== other?.print
  })
  const differences: Difference[] = []
  let differing = 0
  for (const place of places.toSorted((a, b) => a - b)) {
    if (differences.length >= DIFFERENCES_MAX) {
      differing++
      continue
    }
    const from = first + place * width
    const stretch = { first_block: from, last_block: Math.min(last, from + width - 1) }
    const found = await differencesOf(warehouse, comparison, stretch)
    differing += found.differing
    differences.push(...found.differences.slice(0, DIFFERENCES_MAX - differences.length))
  }
  return { rows, differing, differences }
}

async function sumsOf(
  warehouse: WarehouseReader,
  { columns }: Comparison,
  { sql, ranges }: Rows,
  span: QueryParams,
): Promise<ReadonlyMap<number, Sum>> {
  const hash = `cityHash64(${castsOf(columns).join(', ')})`
  const statement = `SELECT toUInt32(intDiv(block_number - {origin:UInt64}, {width:UInt64})) AS place, count() AS rows, sum(${hash}) AS print
    FROM (${sql}) GROUP BY place${SPILLING}`
  const sums = new Map<number, Sum>()
  for (const range of ranges) {
    const rows = await warehouse.query<{ place: number; rows: string; print: string }>(statement, { ...span, ...range })
    for (const { place, rows: more, print } of rows) {
      const before = sums.get(place) ?? { rows: 0, print: 0n }
      sums.set(place, { rows: before.rows + Number(more), print: (before.print + BigInt(print)) % WORD })
    }
  }
  return sums
}

async function differencesOf(
  warehouse: WarehouseReader,
  { columns, made, told, whole }: Comparison,
  stretch: QueryParams,
): Promise<{ readonly differing: number; readonly differences: readonly Difference[] }> {
  const names = Object.keys(columns)
  const casts = castsOf(columns).map((cast, i) => `${cast} AS ${names[i]}`)
  const shown = names.filter((name) => name !== 'block_number').map((name) => `'${name} ', ${textOf(name, columns)}`)
  const found = await warehouse.query<{ block: string; surplus: string; row: string; differing: string }>(
    `SELECT block_number AS block, sum(side) AS surplus, concat(${shown.join(", ', ', ")}) AS row, count() OVER () AS differing
     FROM (
       SELECT ${casts.join(', ')}, 1 AS side FROM (${made.sql}) UNION ALL SELECT ${casts.join(', ')}, -1 AS side FROM (${told.sql})
     )
     GROUP BY ${names.join(', ')} HAVING surplus != 0
     ORDER BY block_number, row, surplus LIMIT ${DIFFERENCES_MAX}${SPILLING}`,
    { ...whole, ...stretch },
  )
  return {
    differing: Number(found[0]?.differing ?? 0),
    differences: found.map(({ block, surplus, row }) => {
      return { block: Number(block), table: told.name, isLacking: Number(surplus) > 0, madeOf: made.name, row }
    }),
  }
}

// Equal values of different types have different hashes.
function castsOf(columns: Comparison['columns']): readonly string[] {
  return Object.entries(columns).map(([name, type]) => `CAST(${name}, '${type}')`)
}

function textOf(name: string, columns: Comparison['columns']): string {
  if (name === 'token_id') return 'toString(reinterpretAsUInt256(reverse(token_id)))'
  return columns[name]?.startsWith('FixedString') ? `'0x', lower(hex(${name}))` : `toString(${name})`
}
