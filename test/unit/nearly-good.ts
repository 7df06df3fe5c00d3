import fc from 'fast-check'

/** What parsers of HTTP differ in, or stumble over. */
export const ODD_BYTES = ['\r\n', '\r', '\n', '\0', ' ', '\t', ':', ',', ';', '\x7f', '\xff'] as const

interface Edits {
  readonly pieces: readonly string[]
  /** In how many of its first characters. */
  readonly places: number
}

/** Texts that are nearly, or wholly, one of the good ones: pieces are put into it, or characters taken out, here and there. */
export function nearlyGood(wholes: readonly string[], { pieces, places }: Edits): fc.Arbitrary<string> {
  const edit = fc.tuple(fc.nat(places), fc.nat(3), fc.constantFrom(...pieces))
  return fc
    .tuple(fc.constantFrom(...wholes), fc.array(edit, { maxLength: 3 }))
    .map(([whole, edits]) =>
      edits.reduce((text, [at, removed, put]) => text.slice(0, at) + put + text.slice(at + removed), whole),
    )
}
