import { AppError } from '../../schemas/errors.ts'

interface Line {
  working: number
  readonly waiting: (() => void)[]
}

/** Places for work on chains: each chain has its own, so one whose nodes hang keeps no other from going on. */
export class ChainPlaces {
  readonly #atOnce: number
  readonly #heldMax: number
  readonly #lines = new Map<string, Line>()

  /** So much of a chain is worked on at once; `heldMax`: with what waits for that. */
  constructor(atOnce: number, heldMax: number) {
    this.#atOnce = atOnce
    this.#heldMax = heldMax
  }

  /** Does the work when the chain has a place for it, in the order of asking. Throws AppError `job_queue` where too much waits already. */
  async take<Result>(chain: string, work: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(chain) ?? { working: 0, waiting: [] }
    this.#lines.set(chain, line)
    if (line.working + line.waiting.length >= this.#heldMax)
      throw new AppError('job_queue', `${this.#heldMax} requests of ${chain} are worked on or wait`, {
        retryable: true,
      })
    if (line.working < this.#atOnce) line.working++
    else await new Promise<void>((begin) => line.waiting.push(begin))
    try {
      return await work()
    } finally {
      this.#leave(chain, line)
    }
  }

  /** Who has waited longest has the place. */
  #leave(chain: string, line: Line): void {
    const begin = line.waiting.shift()
    if (begin === undefined) line.working--
    else begin()
    if (line.working === 0) this.#lines.delete(chain)
  }
}
