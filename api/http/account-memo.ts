import { LRUCache } from 'lru-cache'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { AccountScope } from './seen-validators.ts'

/** Accounts of all chains, those that were asked for last. */
const ACCOUNTS_MAX = 1_000

interface Kept<Value> {
  readonly basis: string
  readonly value: Value
}

/**
 * Values by account that stay when the tables move, which they do with every epoch: each lasts for as long as its basis is the same text,
 * and whoever has it says for itself which parts of it are still true.
 */
export class AccountMemo<Value> {
  /** By warehouse: a process has one, and tests several. */
  readonly #values = new WeakMap<WarehouseReader, LRUCache<string, Kept<Value>>>()

  of({ standing, account }: AccountScope, basis: string, make: () => Value): Value {
    const values = this.#values.get(standing.warehouse) ?? new LRUCache<string, Kept<Value>>({ max: ACCOUNTS_MAX })
    this.#values.set(standing.warehouse, values)
    const key = JSON.stringify([standing.chain, account])
    const known = values.get(key)
    if (known?.basis === basis) return known.value
    const value = make()
    values.set(key, { basis, value })
    return value
  }
}
