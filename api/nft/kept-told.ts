/** That are kept together, each kind of a chain: about 50 MB. */
const CHARACTERS_MAX = 16_000_000
/** That one takes beside what it says. */
const CHARACTERS_EACH = 200

/**
 * What contracts, or tokens, say of themselves, as it was told to those who asked: good for as long as none of its kind is read again,
 * for most collections are in many wallets, and a wallet is asked about at one block after the other.
 */
export class KeptTold<Value> {
  /** Of which reading it is. */
  readonly position: string
  /** Null: nothing is told of it. */
  readonly #known = new Map<string, Value | null>()
  readonly #charactersMax: number
  #characters = 0

  constructor(position: string, charactersMax = CHARACTERS_MAX) {
    this.position = position
    this.#charactersMax = charactersMax
  }

  /** Undefined where nobody has asked. */
  of(key: string): Value | null | undefined {
    return this.#known.get(key)
  }

  /** `characters` are those of what it says. What does not fit beside the others takes their place. */
  keep(key: string, told: Value | null, characters: number): void {
    if (this.#known.has(key)) return
    this.#characters += characters + CHARACTERS_EACH
    if (this.#characters > this.#charactersMax) {
      this.#known.clear()
      this.#characters = characters + CHARACTERS_EACH
    }
    this.#known.set(key, told)
  }
}
