/** Probes in a row that have to fail before an upstream counts as away: one may be lost. */
const FAILED_PROBES_MAX = 1
/** So often the others may advance while one does not. */
const ADVANCES_MISSED_MAX = 1

/** What a probe has found. */
export interface Found {
  /** Undefined: the chain has no blocks. */
  readonly head?: number
  /** Undefined: nothing is compared. */
  readonly isRightChain?: boolean
  /** The newest final block; undefined: it has told none. */
  readonly final?: number
}

/** How an upstream is, by what probes find: by how far it has come, never by what it says of its health. */
export class UpstreamHealth {
  /** Undefined: it has shown none. */
  #isRightChain: boolean | undefined
  #failedProbes = 0
  #head: number | undefined
  #told: number | undefined
  #final: number | undefined
  #strays = 0
  #best = 0
  #advancesMissed = 0
  #lag = 0

  /** Whether it has shown that it is on the right chain; before, nobody is answered by it. */
  get isRightChain(): boolean {
    return this.#isRightChain === true
  }

  /** Whether it has answered when it was asked last. */
  get answers(): boolean {
    return this.#isRightChain !== undefined && this.#failedProbes === 0
  }

  /** The newest block that it had when it was asked last; undefined while it does not answer. */
  get head(): number | undefined {
    return this.#failedProbes > 0 ? undefined : this.#head
  }

  /** The newest block that it has said to have, when it was asked last or to a client since. */
  get told(): number | undefined {
    return this.#told
  }

  /** The newest block that it has called final when it was asked last, whether or not it answers now. */
  get final(): number | undefined {
    return this.#final
  }

  /** How often it has left the right chain. */
  get strays(): number {
    return this.#strays
  }

  isWell(lagMax: number): boolean {
    return this.faultAt(lagMax) === undefined
  }

  /** Why it is left out, for people; undefined: it is well. */
  faultAt(lagMax: number): string | undefined {
    if (this.#failedProbes > FAILED_PROBES_MAX) return 'it does not answer'
    if (this.#isRightChain === undefined) return this.#failedProbes > 0 ? 'it does not answer' : 'it was not asked yet'
    if (!this.#isRightChain) return 'it follows another chain'
    if (this.#lag > 0 && this.#lag >= lagMax) return 'it is behind the others'
    return this.#advancesMissed > ADVANCES_MISSED_MAX ? 'it stands still' : undefined
  }

  note(found: Found | undefined): void {
    if (found === undefined) {
      this.#failedProbes++
      return
    }
    this.#failedProbes = 0
    const isRightChain = found.isRightChain !== false
    if (this.#isRightChain === true && !isRightChain) this.#strays++
    this.#isRightChain = isRightChain
    this.#final = found.final
    if (found.head !== this.#head) this.#advancesMissed = 0
    this.#head = found.head
    this.#told = found.head
  }

  /** It says to a client which block is its newest. */
  tell(number: number): void {
    this.#told = number
  }

  /** `best` is the newest block of its network, as those of its upstreams that are on the right chain have it (`UpstreamGroup.head`). */
  compare(best: number): void {
    const head = this.head ?? best
    this.#lag = best - head
    if (this.#lag > 0 && best > this.#best) this.#advancesMissed++
    if (this.#lag <= 0) this.#advancesMissed = 0
    this.#best = best
  }
}
