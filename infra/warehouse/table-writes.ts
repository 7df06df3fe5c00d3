import type { Writing } from '../ports/warehouse.ts'

/** A statement that changes the table it names, and no other. */
const INSERT_INTO = /^\s*INSERT\s+INTO\s+(?:\w+\.)?(\w+)[\s(]/i

interface Writes {
  begun: number
  readonly running: Set<Run>
}

interface Run {
  readonly sinceMs: number
  readonly ended: Promise<unknown>
}

const none = (): Writes => ({ begun: 0, running: new Set() })

/** Counts what is written to tables of one engine, of whatever database: all of it goes through here. */
export class TableWrites {
  readonly #tables = new Map<string, Writes>()
  /** Of statements that may change any table. */
  readonly #any = none()

  /** Runs what writes to a table. */
  async insert<Result>(table: string, task: () => Promise<Result>): Promise<Result> {
    const writes = this.#tables.get(table) ?? none()
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
    let running = this.#any.running.size
    for (const table of tables) {
      const writes = this.#tables.get(table)
      begun += writes?.begun ?? 0
      running += writes?.running.size ?? 0
    }
    return running === 0 ? begun : undefined
  }

  /** What is under way; undefined where nothing is. */
  writing(tables: readonly string[]): Writing | undefined {
    const all = [this.#any, ...tables.flatMap((table) => this.#tables.get(table) ?? [])]
    const running = all.flatMap((writes) => [...writes.running])
    if (running.length === 0) return undefined
    return {
      before: all.reduce((sum, { begun }) => sum + begun, 0) - running.length,
      sinceMs: Math.min(...running.map(({ sinceMs }) => sinceMs)),
      ended: () => Promise.all(running.map(({ ended }) => ended)),
    }
  }
}

async function run<Result>(writes: Writes, task: () => Promise<Result>): Promise<Result> {
  writes.begun++
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const one = { sinceMs: performance.now(), ended }
  writes.running.add(one)
  try {
    return await task()
  } finally {
    writes.running.delete(one)
    end()
  }
}
