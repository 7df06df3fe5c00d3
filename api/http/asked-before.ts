/** Keys that are known at a time, about: far more than anything that is kept has. */
const PLACES = 2 ** 18

/**
 * Whether something was asked for before, as far as a megabyte remembers: what is asked for once is not worth keeping. Who reads everything
 * there is, each thing once, would have all else put out of its place.
 */
export class AskedBefore {
  /** By the place of a key, which key was asked for there last. */
  readonly #marks = new Uint32Array(PLACES)

  /** False the first time, and where another key has taken this one's place since; true, very seldom, of a key that was not asked for. */
  isAgain(key: string): boolean {
    const mark = hashOf(key)
    const place = mark % PLACES
    const isAgain = this.#marks[place] === mark
    this.#marks[place] = mark
    return isAgain
  }
}

/** FNV-1a, of 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
