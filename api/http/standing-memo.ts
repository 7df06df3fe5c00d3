import { LRUCache } from 'lru-cache'
import type { Standing } from './standings.ts'

/** Accounts whose figures are kept at the same moment: of each a few hundred bytes per validator and day. */
const KEYS_MAX = 500

/** Values that are made once while a chain's tables stand as they do, and go when these move. */
export class StandingMemo<Value> {
  readonly #values = new WeakMap<Standing, LRUCache<string, Promise<Value>>>()

  of(standing: Standing, key: string, make: () => Promise<Value>): Promise<Value> {
    const values = this.#values.get(standing) ?? new LRUCache<string, Promise<Value>>({ max: KEYS_MAX })
    this.#values.set(standing, values)
    const known = values.get(key)
    if (known !== undefined) return known
    const value = make()
    values.set(key, value)
    // A failure is its askers'; the next asker makes it again.
    value.catch(() => values.delete(key))
    return value
  }
}
