/** That are kept together, each kind of a chain: about 50 MB. */
const CHARACTERS_MAX = 16_000_000
/** That one takes beside what it says. */
const CHARACTERS_EACH = 200
/** Keys that are known to have been asked for: far more than are kept. */
const ASKED_PLACES = 2 ** 18

/**
 * What contracts, or tokens, say of themselves, as it was told to those who asked: good for as long as none of its kind is read again,
 * for most collections are in many wallets, and a wallet is asked about at one block after the other. What is asked for the first time is
 * not kept: who reads all tokens there are, each once, would have everything else forgotten, and memory collected all the time.
 */
export class KeptTold<Value> {
  /** Of which reading it is. */
  readonly position: string
  /** Null: nothing is told of it. */
  readonly #known = new Map<string, Value | null>()
  /** By the place of a key, which key was asked for there last. */
  readonly #asked: Uint32Array<ArrayBuffer>
  readonly #charactersMax: number
  #characters = 0

  constructor(position: string, charactersMax = CHARACTERS_MAX, asked = new Uint32Array(ASKED_PLACES)) {
    this.position = position
    this.#charactersMax = charactersMax
    this.#asked = asked
  }

  /** Of another reading: nothing is kept yet, but what has been asked for is known. */
  at(position: string): KeptTold<Value> {
    return new KeptTold(position, this.#charactersMax, this.#asked)
  }

  /** Undefined where it is not kept. */
  of(key: string): Value | null | undefined {
    return this.#known.get(key)
  }

  /** From the second time on. `characters` are those of what it says. What does not fit beside the others takes their place. */
  keep(key: string, told: Value | null, characters: number): void {
    if (!this.#isAskedAgain(key) || this.#known.has(key)) return
    this.#characters += characters + CHARACTERS_EACH
    if (this.#characters > this.#charactersMax) {
      this.#known.clear()
      this.#characters = characters + CHARACTERS_EACH
    }
    this.#known.set(key, told)
  }

  #isAskedAgain(key: string): boolean {
    const mark = hashOf(key)
    const place = mark % ASKED_PLACES
    const isAgain = this.#asked[place] === mark
    this.#asked[place] = mark
    return isAgain
  }
}

/** FNV-1a, of 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
