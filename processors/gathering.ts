import { AppError } from '../schemas/errors.ts'

interface Asked<Item> {
  readonly item: Item
  readonly done: PromiseWithResolvers<void>
}

interface Failure {
  readonly error: unknown
}

/** Does at once what is asked for while it is busy: of what costs about as much for many as for one. */
export class Gathering<Item> {
  readonly #work: (items: readonly Item[]) => Promise<void>
  readonly #waiting: Asked<Item>[] = []
  #isBusy = false

  /**
   * Of `work` that fails for several each is tried by itself: nobody suffers from what is wrong with another. But where one by itself fails as in an
   * outage, so do those behind it: whoever has asked tries again.
   */
  constructor(work: (items: readonly Item[]) => Promise<void>) {
    this.#work = work
  }

  /** Resolves, or rejects, with the work that began after this call. */
  async do(item: Item): Promise<void> {
    const done = Promise.withResolvers<void>()
    this.#waiting.push({ item, done })
    if (!this.#isBusy) void this.#doAll()
    return await done.promise
  }

  async #doAll(): Promise<void> {
    this.#isBusy = true
    // Who asks in the same breath is taken along.
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#doTogether(this.#waiting.splice(0))
    this.#isBusy = false
  }

  async #doTogether(asked: readonly Asked<Item>[]): Promise<void> {
    const failure = await this.#failureOf(asked)
    if (failure === undefined) return
    let outage: Failure | undefined
    for (const one of asked) {
      const own = outage ?? (asked.length === 1 ? failure : await this.#failureOf([one]))
      if (own === undefined) continue
      one.done.reject(own.error)
      if (own.error instanceof AppError && own.error.retryable) outage = own
    }
  }

  /** Undefined when the work was done. */
  async #failureOf(asked: readonly Asked<Item>[]): Promise<Failure | undefined> {
    try {
      await this.#work(asked.map(({ item }) => item))
    } catch (error) {
      return { error }
    }
    for (const { done } of asked) done.resolve()
    return undefined
  }
}
