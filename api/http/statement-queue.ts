/** Statements of all accounts that run at the same moment: one less than the embedded engine runs, which others need too. */
export const STATEMENTS_AT_ONCE = 5
/** Statements of one account among them: whatever it asks, somebody else's can run beside it. */
export const STATEMENTS_OF_ACCOUNT = 2
/** The last turns are for accounts that have no statement running: a few that ask much do not keep the next one waiting. */
export const STATEMENTS_OF_NEWCOMERS = 2

interface Waiting {
  readonly begin: () => void
}

interface Line {
  running: number
  readonly waiting: Set<Waiting>
}

/** Runs the statements of accounts in turns: who asks much waits behind itself, not before others. */
export class StatementQueue {
  /** Accounts with something to do, those that have waited longest for their turn first. */
  readonly #lines = new Map<string, Line>()
  #running = 0

  /** Runs the task when it is the account's turn. Rejects with the signal's reason, and runs nothing, when it aborts before. */
  async run<Result>(account: string, signal: AbortSignal, task: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted()
    await this.#turn(account, signal)
    try {
      return await task()
    } finally {
      this.#end(account)
    }
  }

  #turn(account: string, signal: AbortSignal): Promise<void> {
    const line = this.#lines.get(account) ?? { running: 0, waiting: new Set<Waiting>() }
    this.#lines.set(account, line)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting: Waiting = {
      begin: () => {
        signal.removeEventListener('abort', leave)
        resolve()
      },
    }
    const leave = (): void => {
      line.waiting.delete(waiting)
      this.#forget(account, line)
      reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    line.waiting.add(waiting)
    this.#beginNext()
    return promise
  }

  #beginNext(): void {
    while (this.#running < STATEMENTS_AT_ONCE) {
      const found = this.#nextLine()
      if (found === undefined) return
      const { account, line, next } = found
      line.waiting.delete(next)
      line.running++
      this.#running++
      // Behind the others until its next turn.
      this.#lines.delete(account)
      this.#lines.set(account, line)
      next.begin()
    }
  }

  #share(): number {
    return this.#running < STATEMENTS_AT_ONCE - STATEMENTS_OF_NEWCOMERS ? STATEMENTS_OF_ACCOUNT : 1
  }

  /** Of the accounts that may begin something the one with the fewest statements running. */
  #nextLine(): { account: string; line: Line; next: Waiting } | undefined {
    let best: { account: string; line: Line; next: Waiting } | undefined
    for (const [account, line] of this.#lines) {
      const [next] = line.waiting
      if (next === undefined || line.running >= this.#share()) continue
      if (best === undefined || line.running < best.line.running) best = { account, line, next }
    }
    return best
  }

  #end(account: string): void {
    const line = this.#lines.get(account)
    this.#running--
    if (line !== undefined) {
      line.running--
      this.#forget(account, line)
    }
    this.#beginNext()
  }

  #forget(account: string, line: Line): void {
    if (line.running === 0 && line.waiting.size === 0) this.#lines.delete(account)
  }
}
