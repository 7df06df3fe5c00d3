/** Lists of which something is remembered; the one that was asked for longest ago is forgotten. */
const LISTS_MAX = 10_000

/** A figure of each list, as its pages have shown it: it decides nothing but how an answer is looked for. */
export class ListFigures {
  readonly #figures = new Map<string, number>()

  /** Undefined where no page of the list was looked for yet. */
  of(list: string): number | undefined {
    return this.#figures.get(list)
  }

  keep(list: string, figure: number): void {
    this.#figures.delete(list)
    this.#figures.set(list, figure)
    if (this.#figures.size > LISTS_MAX) this.#figures.delete(this.#figures.keys().next().value as string)
  }
}
