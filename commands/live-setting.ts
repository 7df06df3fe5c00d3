import { isDeepStrictEqual } from 'node:util'

/** A setting that changes while the program runs, and who wants to know when it does. */
export class LiveSetting<Value> {
  #value: Value
  readonly #listeners = new Set<() => void>()

  constructor(value: Value) {
    this.#value = value
  }

  get current(): Value {
    return this.#value
  }

  /** Tells the listeners, unless the new value says the same. */
  replace(value: Value): void {
    if (isDeepStrictEqual(this.#value, value)) return
    this.#value = value
    for (const listener of this.#listeners) listener()
  }

  /** Calls the listener at each change, until the signal aborts. */
  onChange(listener: () => void, signal: AbortSignal): void {
    this.#listeners.add(listener)
    signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true })
  }
}
