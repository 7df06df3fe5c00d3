/** Statements of all accounts that run at the same moment: one less than the embedded engine runs, which others need too. */
export const STATEMENTS_AT_ONCE = 5
/** Statements of one account among them: whatever it asks, somebody else's can run beside it. */
export const STATEMENTS_OF_ACCOUNT = 2
/** The last turns are for accounts that have no statement running: a few that ask much do not keep the next one waiting. */
export const STATEMENTS_OF_NEWCOMERS = 2

/** Statements that are gathered for one turn. */
export const GATHERED_MAX = 8
/** The account of turns in which several small ones are read together: no account has an empty name. */
export const SMALL_ACCOUNTS = ''

/** What nobody ends: others wait for it, too. */
const NEVER = new AbortController().signal

interface Gathered {
  items: unknown[]
  results: Promise<readonly unknown[]>
}

const NO_RESULTS: Promise<readonly unknown[]> = Promise.resolve([])

interface Waiting {
  /** Of what is gathered. */
  readonly kind: string | undefined
  readonly begin: () => void
}

interface Line {
  readonly running: Waiting[]
  readonly waiting: Set<Waiting>
}

/** What has waited longest, but behind others where one of its kind runs: meanwhile more of it is gathered. */
function nextOf({ waiting, running }: Line): Waiting | undefined {
  const [first] = waiting
  for (const one of waiting) if (one.kind === undefined || running.every(({ kind }) => kind !== one.kind)) return one
  return first
}

/** Runs the statements of accounts in turns: who asks much waits behind itself, not before others. */
export class StatementQueue {
  /** Accounts with something to do, those that have waited longest for their turn first. */
  readonly #lines = new Map<string, Line>()
  #running = 0
  /** What is gathered for the next turn, by account and kind. */
  readonly #gathered = new Map<string, Gathered>()

  /** Runs the task when it is the account's turn. Rejects with the signal's reason, and runs nothing, when it aborts before. */
  async run<Result>(account: string, signal: AbortSignal, task: () => Promise<Result>, kind?: string): Promise<Result> {
    signal.throwIfAborted()
    const turn = await this.#turn(account, signal, kind)
    try {
      return await task()
    } finally {
      this.#end(account, turn)
    }
  }

  /**
   * Runs what an account asks for of one kind while it waits for its turn as one: `runAll` gets all of it, `most` at once, and results are
   * in its order. While one of its kind runs, what else the account waits for comes first: two side by side would be of half as much each.
   * Whoever does not wait any more is not heard of.
   */
  async gather<Item, Result>(
    account: string,
    { kind, item, most = GATHERED_MAX }: { readonly kind: string; readonly item: Item; readonly most?: number },
    runAll: (items: readonly Item[]) => Promise<readonly Result[]>,
  ): Promise<Result> {
    const key = JSON.stringify([account, kind])
    const known = this.#gathered.get(key)
    const isOpen = known !== undefined && known.items.length < most
    const gathered = isOpen ? known : this.#beginGathering(account, key, runAll)
    const place = gathered.items.push(item) - 1
    return (await gathered.results)[place] as Result
  }

  #beginGathering<Item, Result>(
    account: string,
    key: string,
    runAll: (items: readonly Item[]) => Promise<readonly Result[]>,
  ): Gathered {
    const items: Item[] = []
    const begin = (): Promise<readonly Result[]> => {
      if (this.#gathered.get(key) === gathered) this.#gathered.delete(key)
      // Tables that a map of V8 has outgrown live until all of its heap is looked through, and with them what was in them then: that is to be little.
      gathered.items = []
      gathered.results = NO_RESULTS
      return runAll(items)
    }
    const results = this.run(account, NEVER, begin, key)
    const gathered: Gathered = { items, results }
    this.#gathered.set(key, gathered)
    return gathered
  }

  #turn(account: string, signal: AbortSignal, kind: string | undefined): Promise<Waiting> {
    const line = this.#lines.get(account) ?? { running: [], waiting: new Set<Waiting>() }
    this.#lines.set(account, line)
    const { promise, resolve, reject } = Promise.withResolvers<Waiting>()
    const waiting: Waiting = {
      kind,
      begin: () => {
        signal.removeEventListener('abort', leave)
        resolve(waiting)
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
      line.running.push(next)
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
      const next = nextOf(line)
      if (next === undefined || line.running.length >= this.#share()) continue
      if (best === undefined || line.running.length < best.line.running.length) best = { account, line, next }
    }
    return best
  }

  #end(account: string, turn: Waiting): void {
    const line = this.#lines.get(account)
    this.#running--
    if (line !== undefined) {
      line.running.splice(line.running.indexOf(turn), 1)
      this.#forget(account, line)
    }
    this.#beginNext()
  }

  #forget(account: string, { running, waiting }: Line): void {
    if (running.length === 0 && waiting.size === 0) this.#lines.delete(account)
  }
}
