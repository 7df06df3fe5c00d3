import type { WordsReader } from '../../infra/ports/warehouse.ts'

/** Of warehouses that nobody reads words of. */
export const noWords: Pick<WordsReader, 'queryWords'> = {
  queryWords: () => Promise.reject(new Error('nobody reads words of this warehouse')),
}
