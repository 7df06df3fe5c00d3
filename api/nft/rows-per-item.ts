/** Lists of which it is remembered; the one that was asked for longest ago is forgotten. */
const LISTS_MAX = 10_000
/** Pages that need fewer rows are followed by others that need more: of a page that needed more than these so much is forgotten. */
const PAGES_REMEMBERED = 8

/**
 * How many rows of a list have to be looked at for each of its items, as its pages have shown it: an item may have one row or thousands,
 * and rows of what nobody holds any more lie between. It decides nothing but how many rows are looked at in one statement.
 */
export class RowsPerItem {
  readonly #lists = new Map<string, number>()

  /** Undefined where no page of the list was looked for yet. */
  of(list: string): number | undefined {
    return this.#lists.get(list)
  }

  /** `isCut`: there were more items among the rows than were wanted. */
  note(
    list: string,
    { rows, items, isCut }: { readonly rows: number; readonly items: number; readonly isCut: boolean },
  ): void {
    const known = this.#lists.get(list)
    const seen = rows / Math.max(items, 1)
    this.#lists.delete(list)
    const needed = isCut && known !== undefined ? known - Math.max(0, known - seen) / PAGES_REMEMBERED : seen
    this.#lists.set(list, needed)
    if (this.#lists.size > LISTS_MAX) this.#lists.delete(this.#lists.keys().next().value as string)
  }
}
