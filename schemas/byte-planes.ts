// Numbers by planes of their bytes, the lowest bytes of all first: of amounts the lower ones are chance and the upper ones alike, which packs well.

const WORD_BYTES = 4

/** In the memory that is given, which has as many bytes; bytes alone stay where they are. */
export function toPlanes(bytes: Uint8Array, width: number, planes: Uint8Array): Uint8Array {
  if (width === 1) return bytes
  const rows = bytes.length / width
  const words = wordsOf(bytes, width)
  if (words === undefined) {
    for (let plane = 0, to = 0; plane < width; plane++)
      for (let from = plane; from < bytes.length; from += width) planes[to++] = bytes[from] as number
  } else {
    const step = width / WORD_BYTES
    for (let place = 0; place < step; place++) wordsToPlanes(words, { place, step }, planes, place * WORD_BYTES * rows)
  }
  return planes
}

/** The bytes that such planes are made of, in the memory that is given, which has as many. */
export function fromPlanes(planes: Uint8Array, width: number, bytes: Uint8Array): void {
  const rows = bytes.length / width
  const words = wordsOf(bytes, width)
  if (words === undefined) {
    for (let plane = 0, from = 0; plane < width; plane++)
      for (let to = plane; to < bytes.length; to += width) bytes[to] = planes[from++] as number
  } else {
    const step = width / WORD_BYTES
    for (let place = 0; place < step; place++) planesToWords(planes, place * WORD_BYTES * rows, words, { place, step })
  }
}

/** Undefined where the numbers are not made of words, or do not lie as such. */
function wordsOf({ buffer, byteOffset, byteLength }: Uint8Array, width: number): Uint32Array | undefined {
  if (width % WORD_BYTES !== 0 || byteOffset % WORD_BYTES !== 0) return undefined
  return new Uint32Array(buffer, byteOffset, byteLength / WORD_BYTES)
}

/** One word of each number: every `step`th from `place` on. */
interface WordPlaces {
  readonly place: number
  readonly step: number
}

// Four planes at once, so that each word is met once.

function wordsToPlanes(words: Uint32Array, { place, step }: WordPlaces, planes: Uint8Array, begin: number): void {
  const rows = words.length / step
  const [second, third, fourth] = [begin + rows, begin + 2 * rows, begin + 3 * rows]
  for (let row = 0, at = place; row < rows; row++, at += step) {
    const word = words[at] as number
    planes[begin + row] = word
    planes[second + row] = word >>> 8
    planes[third + row] = word >>> 16
    planes[fourth + row] = word >>> 24
  }
}

function planesToWords(planes: Uint8Array, begin: number, words: Uint32Array, { place, step }: WordPlaces): void {
  const rows = words.length / step
  const [second, third, fourth] = [begin + rows, begin + 2 * rows, begin + 3 * rows]
  for (let row = 0, at = place; row < rows; row++, at += step)
    words[at] =
      (planes[begin + row] as number) |
      ((planes[second + row] as number) << 8) |
      ((planes[third + row] as number) << 16) |
      ((planes[fourth + row] as number) << 24)
}
