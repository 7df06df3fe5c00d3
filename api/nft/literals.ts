import type { QueryParams } from '../../infra/ports/warehouse.ts'
import { textSql } from '../../schemas/tables/literals.ts'
import type { NftPin } from './asking.ts'

/** Rows of the chain's fold. */
export function foldSql({ chain, standing }: Pick<NftPin, 'chain' | 'standing'>): string {
  return `chain = ${textSql(chain)} AND start = ${standing.start}`
}

/** The same as parameters, with the number of the answer's block. */
export function foldParams({ chain, standing, snapshot }: NftPin): QueryParams {
  return { chain, start: standing.start, number: snapshot.number }
}
