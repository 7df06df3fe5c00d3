import { ListFigures } from './list-figures.ts'

/** Of a key, as a number: what a double holds of it. */
const PLACE_DIGITS = 12
/** Pages whose items lie close together are followed by others: of one that had wider gaps than these so much is forgotten. */
const PAGES_REMEMBERED = 8
/** A page of items that lie at random has gaps that differ from those of the page before. */
const SPARE = 1.5

/**
 * How far the items of a list lie apart in the order of its keys, as its pages have shown it. Keys are hashes, so that most lists have
 * their items at random; it decides nothing but up to where a page is looked for first.
 */
export class ItemGaps {
  readonly #lists = new ListFigures()

  /** `behind` is the key, hex with 0x, that a page of so many items has begun behind, and `last` its last one. */
  note(
    list: string,
    { behind, last, items }: { readonly behind: string; readonly last: string; readonly items: number },
  ) {
    const known = this.#lists.of(list) ?? 0
    const seen = (placeOf(last) - placeOf(behind)) / items
    this.#lists.keep(list, Math.max(seen, known - (known - seen) / PAGES_REMEMBERED))
  }

  /**
   * Up to which key, of the same length, so many items behind a key lie, about: that one, or any that has its first bytes. Undefined where no page of
   * the list was looked for yet.
   */
  endOf(list: string, { behind, items }: { readonly behind: string; readonly items: number }): string | undefined {
    const gap = this.#lists.of(list)
    if (gap === undefined) return undefined
    const place = Math.min(placeOf(behind) + Math.ceil(gap * items * SPARE), 16 ** PLACE_DIGITS - 1)
    return `0x${place
      .toString(16)
      .padStart(PLACE_DIGITS, '0')
      .padEnd(behind.length - 2, 'f')}`
  }
}

const placeOf = (key: string): number => Number.parseInt(key.slice(2, 2 + PLACE_DIGITS), 16)
