import { ListFigures } from './list-figures.ts'

/** Pages that need fewer rows are followed by others that need more: of a page that needed more than these so much is forgotten. */
const PAGES_REMEMBERED = 8

/**
 * How many rows of a list have to be looked at for each of its items, as its pages have shown it: an item may have one row or thousands,
 * and rows of what nobody holds any more lie between. It decides nothing but how many rows are looked at in one statement.
 */
export class RowsPerItem {
  readonly #lists = new ListFigures()

  /** Undefined where no page of the list was looked for yet. */
  of(list: string): number | undefined {
    return this.#lists.of(list)
  }

  /** `isCut`: there were more items among the rows than were wanted. */
  note(
    list: string,
    { rows, items, isCut }: { readonly rows: number; readonly items: number; readonly isCut: boolean },
  ): void {
    const known = this.#lists.of(list)
    const seen = rows / Math.max(items, 1)
    this.#lists.keep(list, isCut && known !== undefined ? known - Math.max(0, known - seen) / PAGES_REMEMBERED : seen)
  }
}
