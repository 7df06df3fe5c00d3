import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import type { Column } from './history-rows.ts'

/** A value of a column of a sort key as SQL; bytes are hex with 0x. */
export const literalOf = ({ kind }: Column, value = ''): string =>
  kind === 'text' ? textSql(value) : bytesSql(value.slice(2))

/** Whether a row lies behind a sort key, as SQL. */
export function isBehindSql(keys: readonly Column[], key: readonly string[]): string {
  const [first, ...others] = keys.map((one, i) => ({ name: one.name, value: literalOf(one, key[i]) }))
  if (first === undefined) return '1'
  const { name, value } = first
  const further = others.reduceRight((rest, one) => {
    const isBehind = `${one.name} > ${one.value}`
    return rest === '' ? isBehind : `(${isBehind} OR ${one.name} = ${one.value} AND ${rest})`
  }, '')
  // The engine finds where to begin by the first column sooner than by what is between several.
  return further === '' ? `${name} > ${value}` : `${name} >= ${value} AND (${name} > ${value} OR ${further})`
}
