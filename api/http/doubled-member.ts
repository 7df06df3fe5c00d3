/** Names and other texts, and where objects and lists begin and end. */
const PIECES = /("(?:[^"\\]+|\\.)*")(\s*:)?|[{}[\]]/g

/**
 * The first name, as it is meant, that an object of a text has twice, at whatever depth; undefined where there is none. The text is known to
 * be JSON. `JSON.parse` takes the last one without a word, and who looks over a body may have seen the first.
 */
export function doubledMember(json: string): string | undefined {
  /** Of each object that is open; a list has none. */
  const names: (Set<string> | undefined)[] = []
  for (const [piece, text, colon] of json.matchAll(PIECES)) {
    if (piece === '{') names.push(new Set())
    else if (piece === '[') names.push(undefined)
    else if (piece === '}' || piece === ']') names.pop()
    else if (colon !== undefined) {
      const name = JSON.parse(text as string) as string
      const seen = names.at(-1) as Set<string>
      if (seen.has(name)) return name
      seen.add(name)
    }
  }
  return undefined
}
