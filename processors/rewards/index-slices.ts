import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'

/** Indices of one statement: what it sums and joins takes up to 2 kB of each validator of them that is tracked. */
const INDICES_AT_ONCE = 2 ** 17
const INDEX_MAX = 2 ** 32 - 1

/** Condition on a column of indices: it lies in a slice. */
export const isInSlice = (index: string): string =>
  `${index} BETWEEN {first_validator:UInt32} AND {last_validator:UInt32}`

/**
 * Parameters of `isInSlice` for statements that together are over all indices. `newestSql` asks, with `params`, for the highest index, `newest`: it
 * only says how many slices are worth it, the last one has no end.
 */
export async function indexSlices(
  warehouse: Pick<Warehouse, 'query'>,
  newestSql: string,
  params: QueryParams,
  indicesAtOnce = INDICES_AT_ONCE,
): Promise<readonly QueryParams[]> {
  const [row] = await warehouse.query<{ newest: number }>(newestSql, params)
  const slices = Math.floor((row?.newest ?? 0) / indicesAtOnce) + 1
  return Array.from({ length: slices }, (_, slice) => ({
    first_validator: slice * indicesAtOnce,
    last_validator: slice === slices - 1 ? INDEX_MAX : (slice + 1) * indicesAtOnce - 1,
  }))
}
