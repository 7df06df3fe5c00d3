import { membersOf } from './json-text.ts'

/** One text for all ways to write an id, for nodes write it anew. What a double does not hold, and what is no id, stays as it is written. */
export function meantBy(id: string): string {
  const value: unknown = JSON.parse(id)
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER ? id : String(value)
  return typeof value === 'string' ? JSON.stringify(value) : id
}

/** The id of the answer that begins at a place of a JSON text, as `meantBy` has it; undefined: it has none. */
export function idOfAnswer(answer: Buffer, object: number): string | undefined {
  const id = membersOf(answer, object).find(
    ({ keyFrom, keyTo }) => answer.toString('latin1', keyFrom, keyTo) === '"id"',
  )
  return id === undefined ? undefined : meantBy(answer.toString('utf8', id.from, id.to))
}
