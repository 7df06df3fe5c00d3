import { setImmediate as nextTurn } from 'node:timers/promises'

/** Others in this process wait no longer for a turn. */
const TURN_MS = 10
/** Between looks at the clock. */
const ROWS_PER_LOOK = 500

/** Long work on many rows: `if (turns.isOver()) await turns.next()` after each. */
export class Turns {
  #rows = 0
  #began = performance.now()

  isOver(): boolean {
    return ++this.#rows % ROWS_PER_LOOK === 0 && performance.now() - this.#began > TURN_MS
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#began = performance.now()
  }
}
