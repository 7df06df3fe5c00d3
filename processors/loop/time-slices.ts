import { setImmediate as nextTurn } from 'node:timers/promises'

/** Others in this process wait no longer for a turn. */
const TURN_MS = 10
/** Between looks at the clock. */
const ROWS_PER_LOOK = 500

/** Long work on many rows, or other items: `if (slices.isOver()) await slices.next()` after each. */
export class TimeSlices {
  readonly #perLook: number
  #items = 0
  #began = performance.now()

  constructor(perLook = ROWS_PER_LOOK) {
    this.#perLook = perLook
  }

  isOver(): boolean {
    return ++this.#items % this.#perLook === 0 && performance.now() - this.#began > TURN_MS
  }

  async next(): Promise<void> {
    await nextTurn()
    this.#began = performance.now()
  }
}
