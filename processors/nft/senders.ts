import type { TimeSlices } from '../loop/time-slices.ts'
import type { WordColumn } from './growing-rows.ts'
import { KeyTable } from './key-table.ts'
import { SENDER, TRANSFER } from './read-step.ts'

// In 32-bit words.
const ADDRESS = 5
const WORD = 8
const NUMBER = 2
const NO_ADDRESS = new Uint32Array(ADDRESS)

/** Who has sent a transaction, by its block and place. */
export class Senders {
  readonly #rows: Uint32Array
  readonly #table = new KeyTable(SENDER.sender)
  readonly #place: number[] = []
  readonly #key = new Uint32Array(SENDER.sender)

  private constructor(rows: Uint32Array) {
    this.#rows = rows
  }

  static async of(rows: Uint32Array, slices: TimeSlices): Promise<Senders> {
    const senders = new Senders(rows)
    for (let at = 0; at < rows.length; at += SENDER.row) {
      senders.#place[senders.#table.numberOf(rows, at)] = at + SENDER.sender
      if (slices.isOver()) await slices.next()
    }
    return senders
  }

  /** Pushes the sender of a transfer's transaction; zeros where nobody knows it. */
  pushTo(column: WordColumn, transfers: Uint32Array, at: number): void {
    for (let i = 0; i < NUMBER; i++)
      this.#key[SENDER.blockNumber + i] = transfers[at + TRANSFER.blockNumber + i] as number
    for (let i = 0; i < WORD; i++) this.#key[SENDER.blockHash + i] = transfers[at + TRANSFER.blockHash + i] as number
    this.#key[SENDER.transactionIndex] = transfers[at + TRANSFER.transactionIndex] as number
    const place = this.#place[this.#table.find(this.#key)]
    if (place === undefined) column.push(NO_ADDRESS, 0)
    else column.push(this.#rows, place)
  }
}
