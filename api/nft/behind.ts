import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import type { Column } from './history-rows.ts'

/** A value of a column of a sort key as SQL; bytes are hex with 0x. */
export const literalOf = ({ kind }: Column, value = ''): string =>
  kind === 'text' ? textSql(value) : bytesSql(value.slice(2))

/** Whether a row lies behind a sort key, as SQL. */
export function isBehindSql(keys: readonly Column[], key: readonly string[]): string {
  const [first, ...others] = keys.map((one, i) => ({
    ...{ name: one.name, value: literalOf(one, key[i]) },
    isLast: one.greatest !== undefined && one.greatest === key[i],
  }))
  if (first === undefined) return '1'
  const { name, value } = first
  const further = others.reduceRight((rest, one) => {
    const ways = [
      ...(one.isLast ? [] : [`${one.name} > ${one.value}`]),
      ...(rest === '' ? [] : [`${one.name} = ${one.value} AND ${rest}`]),
    ]
    return ways.length > 1 ? `(${ways.join(' OR ')})` : (ways[0] ?? '')
  }, '')
  // The engine finds where to begin by the first column sooner than by what is between several.
  return further === '' ? `${name} > ${value}` : `${name} >= ${value} AND (${name} > ${value} OR ${further})`
}
