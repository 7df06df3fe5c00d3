import type { JobQueue } from '../../infra/ports/job-queue.ts'

interface Requested {
  readonly input: unknown
  dueMs: number
  isActive: boolean
  againDueMs?: number
}

interface Worker {
  readonly name: string
  readonly concurrency: number
  /** How long a run takes, as it begins; and what it does in the end. */
  readonly begin: (input: never) => { readonly tookMs: number; readonly end: () => Promise<void> }
}

interface Running {
  readonly endMs: number
  readonly end: () => Promise<void>
}

/** Requested jobs as the port promises them, and their workers, by a clock that somebody else moves on. */
export class SimulatedQueue implements Pick<JobQueue, 'request' | 'pending'> {
  /** The most that waited, or were done, at once. */
  waitedMax = 0
  readonly #now: () => number
  readonly #jobs = new Map<string, Requested>()
  readonly #running = new Map<Worker, Running[]>()

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  async request(name: string, id: string, input: unknown, { delayMs = 0 } = {}): Promise<void> {
    const key = `${name} ${id}`
    const known = this.#jobs.get(key)
    const dueMs = this.#now() + delayMs
    if (known === undefined) this.#jobs.set(key, { input, dueMs, isActive: false })
    else if (known.isActive) known.againDueMs ??= dueMs
    this.waitedMax = Math.max(this.waitedMax, this.#jobs.size)
  }

  async pending(name: string): Promise<number> {
    return this.waiting(name)
  }

  waiting(name: string): number {
    return this.#ofName(name).length
  }

  work(worker: Worker): void {
    this.#running.set(worker, [])
  }

  /** Ends what has had its time, and begins what is due: the longest due first. */
  async step(): Promise<void> {
    for (const [worker, runs] of this.#running) {
      const ended = runs.filter(({ endMs }) => endMs <= this.#now())
      const going = runs.filter((run) => !ended.includes(run))
      for (const { end } of ended) await end()
      const due = this.#ofName(worker.name)
        .filter(([, { isActive, dueMs }]) => !isActive && dueMs <= this.#now())
        .toSorted(([, one], [, other]) => one.dueMs - other.dueMs)
      for (const [key, job] of due.slice(0, worker.concurrency - going.length)) {
        job.isActive = true
        const { tookMs, end } = worker.begin(job.input as never)
        const over = async (): Promise<void> => {
          await end()
          if (job.againDueMs === undefined) this.#jobs.delete(key)
          else Object.assign(job, { isActive: false, dueMs: job.againDueMs, againDueMs: undefined })
        }
        going.push({ endMs: this.#now() + tookMs, end: over })
      }
      this.#running.set(worker, going)
    }
  }

  #ofName(name: string): readonly (readonly [string, Requested])[] {
    return [...this.#jobs].filter(([key]) => key.startsWith(`${name} `))
  }
}
