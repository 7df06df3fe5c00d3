// What a server takes in one statement unless it is told otherwise, and how lists are asked for that have more.

/** Of one statement with what is written into it; a server takes a little more (max_query_size, 256 KiB). */
export const STATEMENT_TEXT_MAX = 240 * 1024
/** Bytes of one parameter (http_max_field_value_size). */
export const PARAMETER_BYTES_MAX = 128 * 1024

/** Numbers of one parameter, ten digits at most, as indices, epochs and slots are. */
export const NUMBERS_PER_STATEMENT = 10_000
/** Public keys, 98 characters, or hashes of one parameter: the engine in this process needs ten seconds for one above a megabyte. */
export const KEYS_PER_STATEMENT = 1_000

/** Lists for one statement each, none of them empty: of `most` items, or of as many as have that size together; one that has more is alone. */
export function inStatements<Item>(
  items: readonly Item[],
  most = NUMBERS_PER_STATEMENT,
  sizeOf: (item: Item) => number = () => 1,
): Item[][] {
  const lists: Item[][] = []
  let left = 0
  for (const item of items) {
    const size = sizeOf(item)
    if (lists.length === 0 || size > left) {
      lists.push([])
      left = most
    }
    lists.at(-1)?.push(item)
    left -= size
  }
  return lists
}

/** The rows of a question about many items, asked in as many statements as their list takes; in the order of the statements. */
export async function askInParts<Item, Row>(
  items: readonly Item[],
  most: number,
  ask: (some: readonly Item[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const found: Row[][] = []
  for (const some of inStatements(items, most)) found.push([...(await ask(some))])
  return found.flat()
}
