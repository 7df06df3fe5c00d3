import { LRUCache } from 'lru-cache'
import type { Standing } from './standings.ts'

/** Of all accounts together, as a memo counts its values: rows of a few hundred bytes each. */
const ITEMS_MAX = 200_000

/** Values that are made once while a chain's tables stand as they do, and go when these move: figures, unless `basisOf` tells what else. */
export class StandingMemo<Value> {
  readonly #itemsOf: (value: Value) => number
  readonly #itemsMax: number
  readonly #basisOf: (standing: Standing) => object
  readonly #values = new WeakMap<object, LRUCache<string, Promise<Value>>>()

  /** `itemsOf` tells how much a value holds: the values that were asked for longest ago leave room for others. */
  constructor(
    itemsOf: (value: Value) => number,
    itemsMax = ITEMS_MAX,
    basisOf: (standing: Standing) => object = ({ figures }) => figures,
  ) {
    this.#itemsOf = itemsOf
    this.#itemsMax = itemsMax
    this.#basisOf = basisOf
  }

  of(standing: Standing, key: string, make: () => Promise<Value>): Promise<Value> {
    const basis = this.#basisOf(standing)
    const values = this.#values.get(basis) ?? new LRUCache<string, Promise<Value>>({ maxSize: this.#itemsMax })
    this.#values.set(basis, values)
    const known = values.get(key)
    if (known !== undefined) return known
    const value = make()
    values.set(key, value, { size: 1 })
    value.then(
      (made) => {
        // One that is larger than all may be together is still kept, alone.
        const size = Math.max(1, Math.min(this.#itemsOf(made), this.#itemsMax))
        if (values.peek(key) !== value) return
        // The cache looks at the size of a value that it does not have.
        values.delete(key)
        values.set(key, value, { size })
      },
      // A failure is its askers'; the next asker makes it again.
      () => values.delete(key),
    )
    return value
  }
}
