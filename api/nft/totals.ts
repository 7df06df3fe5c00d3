import { bytesSql } from '../../schemas/tables/literals.ts'
import type { TotalKind } from '../../schemas/tables/nft.ts'
import type { Lead } from './beginnings.ts'
import type { CountsPlace } from './counts.ts'

export const TOTALS = 'nft_totals'

const NOBODY = '00'.repeat(20)

/** Totals of a kind that have one key, as SQL; addresses are hex without 0x. */
export const totalsOf = (kind: TotalKind, key: string): string => `kind = '${kind}' AND key = ${bytesSql(key)}`

/** The same for lists that are begun together. */
export const leadOfTotals = (kind: TotalKind, value: string): Lead => ({
  column: 'key',
  value,
  within: `kind = '${kind}'`,
})

/** Where the total of a contract, of an account, or of one of both and the `other` lies. */
export function placeOfTotal(kind: TotalKind, key: string, other = NOBODY): Omit<CountsPlace, 'columns'> {
  return { table: TOTALS, where: `${totalsOf(kind, key)} AND other = ${bytesSql(other)}`, total: { kind, key, other } }
}
