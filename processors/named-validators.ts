import type { QueryParams } from '../infra/ports/warehouse.ts'
import type { Projection } from '../schemas/tables/projections.ts'
import { inStatements, KEYS_PER_STATEMENT } from '../schemas/tables/statement-parts.ts'
import type { Touched } from './loop/rows.ts'

/** A part of some validators, as a statement has them. */
interface PubkeyQuestion {
  /** What stands behind `pubkey IN`; it may name the parameter `chain`. */
  readonly set: string
  readonly params: QueryParams
}

/** Validators of one chain that a batch names, and how a statement is told of them. */
export class NamedValidators {
  readonly #pubkeys: (readonly string[])[] = []
  readonly #versions = new Map<Projection, bigint[]>()
  #areAllInRows = true

  add({ pubkeys, rows }: Touched & { readonly kind: 'validators' | 'proposers' }): void {
    this.#pubkeys.push(pubkeys)
    if (rows === undefined) {
      this.#areAllInRows = false
      return
    }
    const versions = this.#versions.get(rows.table)
    if (versions === undefined) this.#versions.set(rows.table, [rows.version])
    else versions.push(rows.version)
  }

  /**
   * A few by their public keys. Many by the rows that name them, one question for each table: a thousand questions, each of which
   * looks for a thousand public keys among a million, take minutes. A row that is not there any more was replaced by one of a newer
   * event, whose batch asks for itself.
   */
  questions(): readonly PubkeyQuestion[] {
    const named = this.#pubkeys.reduce((sum, some) => sum + some.length, 0)
    if (this.#areAllInRows && named > KEYS_PER_STATEMENT) {
      return [...this.#versions].map(([table, versions]) => ({
        set: `(SELECT pubkey FROM ${table} WHERE chain = {chain:String} AND has({versions:Array(UInt64)}, version))`,
        params: { versions },
      }))
    }
    return inStatements([...new Set(this.#pubkeys.flat())], KEYS_PER_STATEMENT).map((pubkeys) => ({
      set: '{pubkeys:Array(String)}',
      params: { pubkeys },
    }))
  }
}
