// Texts that collections are searched by: lower-case, as questions are.

/** Longer ones are no words, and nobody finds them by a part that is nearly right. */
const WORD_BYTES_MAX = 255

/** A name, a symbol, or what is looked for: blanks are all one. */
export const searchable = (text: string): string => text.toLowerCase().replaceAll(/\s/g, ' ')

/** Name and symbol, each between line breaks. */
export const searchText = (name: string, symbol: string): string => `\n${searchable(name)}\n${searchable(symbol)}\n`

/** Each of its words once. */
export function wordsOf(text: string): readonly string[] {
  const words = text.split(/\s+/).filter((word) => word !== '' && Buffer.byteLength(word) <= WORD_BYTES_MAX)
  return [...new Set(words)]
}
