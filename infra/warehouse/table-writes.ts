/** A statement that changes the table it names, and no other. */
const INSERT_INTO = /^\s*INSERT\s+INTO\s+(?:\w+\.)?(\w+)[\s(]/i

interface Writes {
  begun: number
  running: number
}

/** Counts what is written to tables of one engine, of whatever database: all of it goes through here. */
export class TableWrites {
  readonly #tables = new Map<string, Writes>()
  /** Of statements that may change any table. */
  readonly #any: Writes = { begun: 0, running: 0 }

  /** Runs what writes to a table. */
  async insert<Result>(table: string, task: () => Promise<Result>): Promise<Result> {
    const writes = this.#tables.get(table) ?? { begun: 0, running: 0 }
    this.#tables.set(table, writes)
    return await run(writes, task)
  }

  /** Runs a statement that changes something. */
  async command<Result>(sql: string, task: () => Promise<Result>): Promise<Result> {
    const [, table] = INSERT_INTO.exec(sql) ?? []
    return table === undefined ? await run(this.#any, task) : await this.insert(table, task)
  }

  /** Equal to an earlier one: nothing was written in between. Undefined while something is. */
  of(tables: readonly string[]): number | undefined {
    let begun = this.#any.begun
    let running = this.#any.running
    for (const table of tables) {
      const writes = this.#tables.get(table)
      begun += writes?.begun ?? 0
      running += writes?.running ?? 0
    }
    return running === 0 ? begun : undefined
  }
}

async function run<Result>(writes: Writes, task: () => Promise<Result>): Promise<Result> {
  writes.begun++
  writes.running++
  try {
    return await task()
  } finally {
    writes.running--
  }
}
