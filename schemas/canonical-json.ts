/** What statements are made of: numbers are safe integers, so that they have one spelling. */
export type CanonicalValue =
  | string
  | number
  | boolean
  | null
  | readonly CanonicalValue[]
  | { readonly [name: string]: CanonicalValue }

/** The one text of a value: members in the order of their names' UTF-16 units, no blanks (RFC 8785). */
export function canonicalJson(value: CanonicalValue): string {
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
  }
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new Error(`${value} is no safe integer.`)
  return JSON.stringify(value)
}

function isList(value: CanonicalValue): value is readonly CanonicalValue[] {
  return Array.isArray(value)
}
