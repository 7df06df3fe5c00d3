import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import type { Column } from './history-rows.ts'

/** A value of a column of a sort key as SQL; bytes are hex with 0x. */
export const literalOf = ({ kind }: Column, value = ''): string =>
  kind === 'text' ? textSql(value) : bytesSql(value.slice(2))

/** Whether a row lies behind a sort key, as SQL. */
export function isBehindSql(keys: readonly Column[], key: readonly string[]): string {
  const places = keys.map((_, i) =>
    keys
      .slice(0, i + 1)
      .map((one, j) => `${one.name} ${j === i ? '>' : '='} ${literalOf(one, key[j])}`)
      .join(' AND '),
  )
  const further = places.map((place) => `(${place})`).join(' OR ')
  const [first] = keys
  // The engine finds where to begin by the first column sooner than by what is between several.
  return first === undefined || keys.length === 1
    ? further
    : `${first.name} >= ${literalOf(first, key[0])} AND (${further})`
}
