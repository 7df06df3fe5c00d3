import { randomUUID } from 'node:crypto'
import { AppError } from '../../schemas/errors.ts'
import type { KeyRow } from './kept-keys.ts'

/** Keys that were handed out and not committed: which ones they are, nothing secret. They are in memory alone. */
export class PreparedSets {
  /** The set prepared first is first. */
  readonly #sets = new Map<string, readonly KeyRow[]>()
  readonly #keysMax: number
  #keys = 0

  constructor(keysMax: number) {
    this.#keysMax = keysMax
  }

  /** Keeps a set under a name, which is returned, and forgets the oldest ones beyond the limit, never this one. */
  add(keys: readonly KeyRow[]): string {
    const id = randomUUID()
    this.#sets.set(id, keys)
    this.#keys += keys.length
    for (const oldest of this.#sets.keys()) {
      if (this.#keys <= this.#keysMax || oldest === id) break
      this.forget(oldest)
    }
    return id
  }

  /** Throws AppError `key_vault` when there is no such set, or none any more. */
  get(id: string): readonly KeyRow[] {
    const keys = this.#sets.get(id)
    if (keys !== undefined) return keys
    throw new AppError(
      'key_vault',
      'These keys are no longer prepared: the key vault was started again since, or many were prepared after them. Prepare others.',
      { retryable: true },
    )
  }

  forget(id: string): void {
    this.#keys -= this.#sets.get(id)?.length ?? 0
    this.#sets.delete(id)
  }
}
