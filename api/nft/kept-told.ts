import { AskedBefore } from '../http/asked-before.ts'

/** That are kept together, each kind of a chain: about 50 MB. */
const CHARACTERS_MAX = 16_000_000
/** That one takes beside what it says. */
const CHARACTERS_EACH = 200

/**
 * What contracts, or tokens, say of themselves, as it was told to those who asked: good for as long as none of its kind is read again,
 * for most collections are in many wallets, and a wallet is asked about at one block after the other. What is asked for the first time is
 * not kept.
 */
export class KeptTold<Value> {
  /** Of which reading it is. */
  readonly position: string
  /** Null: nothing is told of it. */
  readonly #known = new Map<string, Value | null>()
  readonly #asked: AskedBefore
  readonly #charactersMax: number
  #characters = 0

  constructor(position: string, charactersMax = CHARACTERS_MAX, asked = new AskedBefore()) {
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
    if (!this.#asked.isAgain(key) || this.#known.has(key)) return
    this.#characters += characters + CHARACTERS_EACH
    if (this.#characters > this.#charactersMax) {
      this.#known.clear()
      this.#characters = characters + CHARACTERS_EACH
    }
    this.#known.set(key, told)
  }
}
