const [TAB, SPACE] = [0x09, 0x20]

const isBlankAt = (text: string, at: number): boolean => text.charCodeAt(at) === SPACE || text.charCodeAt(at) === TAB

/**
 * The text between two places without spaces and tabs around it. An expression as `/^ +| +$/g` looks from each blank amid the text to the end of
 * its blanks: of a header with thousands of them it takes the square of that.
 */
export function trimBlanks(text: string, from: number, to: number): string {
  let [begin, end] = [from, to]
  while (begin < end && isBlankAt(text, begin)) begin++
  while (end > begin && isBlankAt(text, end - 1)) end--
  return text.slice(begin, end)
}
