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
}

/** How an upstream is, by what probes find: by how far it has come, never by what it says of its health. */
export class UpstreamHealth {
  #isRightChain = false
  #failedProbes = 0
  #head: number | undefined
  #best = 0
  #advancesMissed = 0
  #lag = 0

  /** Whether it has shown that it is on the right chain; before, nobody is answered by it. */
  get isRightChain(): boolean {
    return this.#isRightChain
  }

  /** The newest block that it had when it was asked last; undefined while it does not answer. */
  get head(): number | undefined {
    return this.#failedProbes > 0 ? undefined : this.#head
  }

  isWell(lagMax: number): boolean {
    return (
      this.#isRightChain &&
      this.#failedProbes <= FAILED_PROBES_MAX &&
      this.#lag < lagMax &&
      this.#advancesMissed <= ADVANCES_MISSED_MAX
    )
  }

  note(found: Found | undefined): void {
    if (found === undefined) {
      this.#failedProbes++
      return
    }
    this.#failedProbes = 0
    this.#isRightChain = found.isRightChain !== false
    if (found.head !== this.#head) this.#advancesMissed = 0
    this.#head = found.head
  }

  /** `best` is the newest block that any upstream of its network has, of those that are on the right chain. */
  compare(best: number): void {
    const head = this.head ?? best
    this.#lag = best - head
    if (this.#lag > 0 && best > this.#best) this.#advancesMissed++
    if (this.#lag <= 0) this.#advancesMissed = 0
    this.#best = best
  }
}
