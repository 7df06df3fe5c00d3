import { AppError } from '../../schemas/errors.ts'
import { allocate, type ColumnArrays, type ColumnSlot, halvesOf, KINDS, orderOf, pick } from './columns.ts'

/** Where a column comes from: a key of the row, or of an object that the row has under `in`. All must be there. */
export interface Field {
  readonly key: string
  readonly in?: string
  readonly type: keyof ColumnArrays
  readonly texts?: readonly string[]
}

/** The fields of a row by the names of their columns; `validatorIndex` tells rows apart. */
export type FieldTable = Readonly<Record<string, Field>> & { readonly validatorIndex: Field & { readonly type: 'u32' } }

/** What a scan gives: an array for every field of the table. */
export type ScannedColumns<Fields extends FieldTable> = {
  readonly [Name in keyof Fields]: ColumnArrays[Fields[Name]['type']]
}

const INDEX = 'validatorIndex'
const CAPACITY_MIN = 64

/** The columns of a table while rows are added to them. */
export class TableColumns<Fields extends FieldTable> {
  readonly #slots: ReadonlyMap<string, ColumnSlot>
  readonly #index: ColumnSlot
  #capacity: number
  /** How many rows are kept; the next one is written at this position. */
  rows = 0

  constructor(fields: Fields, rowsHint = 0) {
    this.#capacity = Math.max(CAPACITY_MIN, rowsHint)
    this.#slots = new Map(
      Object.entries<Field>(fields).map(([name, { type }]) => {
        const array = allocate(KINDS[type], this.#capacity)
        return [name, { name, kind: KINDS[type], array, halves: halvesOf(array) }]
      }),
    )
    this.#index = this.slot(INDEX)
  }

  slot(name: string): ColumnSlot {
    const slot = this.#slots.get(name)
    if (slot === undefined) throw new Error(`no column ${name}`)
    return slot
  }

  /** Of the row that was written last. */
  get newestIndex(): number {
    return this.#index.array[this.rows] as number
  }

  /** Before a row is written. */
  makeRoom(): void {
    if (this.rows < this.#capacity) return
    this.#capacity *= 2
    for (const slot of this.#slots.values()) {
      const larger = allocate(slot.kind, this.#capacity)
      ;(larger as Uint8Array).set(slot.array as Uint8Array)
      slot.array = larger
      slot.halves = halvesOf(larger)
    }
  }

  /** By name, rows by ascending index; two rows of one index are malformed. */
  sorted(): ScannedColumns<Fields> {
    return this.#finish((index) => {
      throw new AppError('node_malformed', `the answer has two rows for validator ${index}`, { retryable: true })
    })
  }

  /** As `sorted`, but several rows of one index are kept, beside each other. */
  sortedWithRepeats(): ScannedColumns<Fields> {
    return this.#finish(() => undefined)
  }

  #finish(onRepeat: (index: number) => void): ScannedColumns<Fields> {
    const { rows } = this
    const index = this.#index.array as Uint32Array
    let ascending = true
    for (let i = 1; i < rows; i++) {
      if ((index[i] as number) < (index[i - 1] as number)) {
        ascending = false
        break
      }
    }
    const order = ascending ? undefined : orderOf(index, rows)
    const columns = Object.fromEntries(
      [...this.#slots].map(([name, slot]) => [
        name,
        order === undefined ? slot.array.subarray(0, rows) : pick(slot, order),
      ]),
    )
    const sorted = columns[INDEX] as Uint32Array
    for (let i = 1; i < rows; i++) if (sorted[i] === sorted[i - 1]) onRepeat(sorted[i] as number)
    return columns as ScannedColumns<Fields> // the slots were made from the same fields
  }
}
