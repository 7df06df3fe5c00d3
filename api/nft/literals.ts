import { textSql } from '../../schemas/tables/literals.ts'
import type { NftPin } from './asking.ts'

/** Rows of the chain's fold. */
export function foldSql({ chain, standing }: Pick<NftPin, 'chain' | 'standing'>): string {
  return `chain = ${textSql(chain)} AND start = ${standing.start}`
}
