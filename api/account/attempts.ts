import type { Counters, Taken } from '../../infra/ports/counters.ts'
import { AppError } from '../../schemas/errors.ts'

/** So many tries of one kind in a time, counted over all processes. */
interface AttemptLimit {
  readonly name: string
  readonly max: number
  readonly windowMs: number
  /** Whether it is a client's, by the network address. */
  readonly isOfClient?: true
}

const MINUTE_MS = 60_000

/** Of whatever asks without a session, by one client: an office behind one address has more than one person. */
export const CLIENT_LIMIT: AttemptLimit = { name: 'client', max: 60, windowMs: 10 * MINUTE_MS, isOfClient: true }
/** Of log-ins with one address, from wherever: 960 guesses a day. */
export const LOG_IN_LIMIT: AttemptLimit = { name: 'log-in', max: 10, windowMs: 15 * MINUTE_MS }
/** Of mails to one address: nobody's box is filled through us. */
export const MAIL_LIMIT: AttemptLimit = { name: 'mail', max: 5, windowMs: 60 * MINUTE_MS }
/** Of whatever says that it is of a session, by one client: cookies can be made up. */
export const SESSION_LIMIT: AttemptLimit = { name: 'session', max: 600, windowMs: 5 * MINUTE_MS, isOfClient: true }

interface AttemptParts {
  readonly counters: Pick<Counters, 'take'>
  readonly clientCounters: Pick<Counters, 'take'>
}

/** Counts tries; keys are digests. */
export class Attempts {
  readonly #parts: AttemptParts
  readonly #now: () => number

  constructor(parts: AttemptParts, now: () => number) {
    this.#parts = parts
    this.#now = now
  }

  /** Seconds until there may be another; 0 where there may be this one. Undefined where nobody can count: then there is none. */
  async take(limit: AttemptLimit, whose: string): Promise<number | undefined> {
    const taken = await this.#take(limit, whose)
    if (taken === undefined || taken.allowed) return taken && 0
    return Math.max(1, Math.ceil(taken.resetMs / 1_000))
  }

  async #take({ name, max, windowMs, isOfClient }: AttemptLimit, whose: string): Promise<Taken | undefined> {
    const { counters, clientCounters } = this.#parts
    try {
      const taking = isOfClient ? clientCounters : counters
      return await taking.take(`account:${name}:${whose}`, 1, max, windowMs, this.#now())
    } catch (error) {
      if (error instanceof AppError && error.code === 'counters') return undefined
      throw error
    }
  }
}
