/** Texts of a column that one byte tells apart. */
export const CODED_TEXTS_MAX = 2 ** 8

/** A column of texts that repeat themselves: each text once, and for each row which one it has. */
export class CodedTexts implements Iterable<string> {
  /** All different, and at most `CODED_TEXTS_MAX`; a row need not have each of them. */
  readonly texts: readonly string[]
  /** Of each row, a place among the texts. */
  readonly codes: Uint8Array

  constructor(texts: readonly string[], codes: Uint8Array) {
    this.texts = texts
    this.codes = codes
  }

  /** Number of rows. */
  get length(): number {
    return this.codes.length
  }

  slice(from: number, to: number): CodedTexts {
    return new CodedTexts(this.texts, this.codes.subarray(from, to))
  }

  *[Symbol.iterator](): Generator<string> {
    for (const code of this.codes) yield this.texts[code] as string
  }

  /** Rows of several columns as one; undefined where they have too many texts together. */
  static join(parts: readonly CodedTexts[]): CodedTexts | undefined {
    const places = new Map<string, number>()
    const codes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    let last: readonly string[] | undefined
    for (const { texts, codes: own } of parts) {
      if (texts !== last) for (const text of texts) if (!places.has(text)) places.set(text, places.size)
      if (places.size > CODED_TEXTS_MAX) return undefined
      last = texts
      codes.set(own, at)
      if (texts.some((text, code) => places.get(text) !== code))
        for (let row = at; row < at + own.length; row++)
          codes[row] = places.get(texts[codes[row] as number] as string) as number
      at += own.length
    }
    return new CodedTexts([...places.keys()], codes)
  }
}
