import type { QueryParams } from '../../infra/ports/warehouse.ts'
import { textSql } from '../../schemas/tables/literals.ts'
import type { NftPin } from './asking.ts'

/** Rows of the chain's fold, which is a partition: what all rows of it have in common is not read to find them. */
export function foldSql({ standing }: Pick<NftPin, 'standing'>): string {
  return `_partition_id = ${textSql(standing.partition)}`
}

/** The same as parameters, with the number of the answer's block. */
export function foldParams({ chain, standing, snapshot }: NftPin): QueryParams {
  return { chain, start: standing.start, number: snapshot.number }
}
