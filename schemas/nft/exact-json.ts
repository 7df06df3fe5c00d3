/** Primitives as they are written: of the standard library, and not yet in its types. */
interface ExactJson {
  parse(
    text: string,
    revive: (this: unknown, key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}
const exactJson = JSON as unknown as ExactJson

/** Where a number may begin; a text may look like that, too. */
const MAY_HAVE_NUMBERS = /(?:^|[\s:,[])-?\d/

/**
 * JSON whose numbers `JSON.stringify` writes as they were written: an integer above 2^53 is not rounded. Throws SyntaxError for text
 * that is no JSON. Its depth has to be known to be small.
 */
export function parseExactly(text: string): unknown {
  // Of most documents no attribute is a number, and asking of each value takes three times as long.
  if (!MAY_HAVE_NUMBERS.test(text)) return JSON.parse(text)
  return exactJson.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? exactJson.rawJSON(source) : value,
  )
}

/** Whether a value is a number of `parseExactly`. */
export function isExactNumber(value: unknown): boolean {
  return exactJson.isRawJSON(value)
}

/** How deep arrays and objects lie in each other, of text that is JSON. */
export function depthOf(text: string): number {
  let [depth, deepest, isText] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (isText) {
      if (character === '\\') at++
      else if (character === '"') isText = false
    } else if (character === '"') isText = true
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth)
    else if (character === '}' || character === ']') depth--
  }
  return deepest
}
