import { randomUUID } from 'node:crypto'
import type { Counters } from '../../infra/ports/counters.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import { DAY_SEC, dayOfInstant, dayStartSec } from '../../schemas/eth/time.ts'
import { type Limited, UNKNOWN, type Unknown } from './limited.ts'

/** Of a quota, at once: fewer and fewer questions to the counters the more an account may ask. */
const LEASE_SHARE = 0.01
const LEASE_UNITS_MIN = 10
/** Of what is left of the day: near the limit leases shrink to what is asked for, so that none keeps others from their last units. */
const LEASE_SHARE_OF_REST = 0.05
/** So long a process keeps units that it does not use. */
const IDLE_MS = 1_000
/** An account that has used its day up asks the counters no more often: units that others return may still come. */
const EMPTY_MS = 200
/** A day's window is not to end within the day, whatever the clocks of processes say. */
const WINDOW_MS = (DAY_SEC + 3_600) * 1_000

/** What an account has left of its day in this process; who takes of it holds it, so that units can be given back. */
export class Budget {
  readonly status = 'passed'
  readonly account: string
  readonly limit: number
  readonly key: string
  readonly endsAtMs: number
  /** Units of the lease: passing takes from it, and nothing else. */
  left = 0
  /** What the counters had left of the whole day when they were asked last. */
  rest: number
  usedAtMs = 0
  emptyUntilMs = 0
  readonly waiting: Waiting[] = []
  isAsking = false
  /** What the counters were asked for and have not answered: done or not, it is asked for again until they do. */
  unanswered: { readonly units: number; readonly once: string } | undefined
  /** Its day is over, or its account has another plan: nobody takes of it any more. */
  isReplaced = false

  constructor(account: string, limit: number, nowMs: number) {
    const day = dayOfInstant(nowMs / 1_000)
    this.account = account
    this.limit = limit
    this.rest = limit
    this.key = `quota:${day}:${account}`
    this.endsAtMs = dayStartSec(day + 1) * 1_000
  }
}

interface Waiting {
  readonly units: number
  readonly resolve: (taken: Budget | Limited | Unknown) => void
}

interface AskedUnits {
  readonly units: number
  /** Of the day. */
  readonly limit: number
  /** Unix milliseconds: which day they are of. */
  readonly nowMs: number
}

interface QuotasOptions {
  readonly counters: Counters
  readonly log: Log
  /** Unix milliseconds on the machine. */
  readonly now: () => number
  /** Called when an account is refused because nothing is left of its day. */
  readonly onUsedUp?: (account: string) => void
}

/**
 * Units of days (UTC+8), taken by all processes from one quota by account. Each leases some and counts them down; of all processes
 * together never more than the quota pass. Without the counters leases are used up, then nothing is known.
 */
export class Quotas implements AsyncDisposable {
  readonly #options: QuotasOptions
  readonly #budgets = new Map<string, Budget>()
  /** Those that are replaced and may have units left, which are still their day's. */
  readonly #replaced = new Set<Budget>()
  readonly #returning: NodeJS.Timeout
  /** Whether the counters did not answer when they were asked last: it is said once, not of every request. */
  #isAway = false

  constructor(options: QuotasOptions) {
    this.#options = options
    this.#returning = setInterval(() => void this.#returnUnused(false), IDLE_MS).unref()
  }

  /** At once where the lease has them; otherwise the counters are asked. */
  take(account: string, { units, limit, nowMs }: AskedUnits): Budget | Limited | Promise<Budget | Limited | Unknown> {
    let budget = this.#budgets.get(account)
    if (budget === undefined || budget.limit !== limit || nowMs >= budget.endsAtMs) {
      if (budget !== undefined) this.#replace(budget)
      budget = new Budget(account, limit, nowMs)
      this.#budgets.set(account, budget)
    }
    budget.usedAtMs = nowMs
    if (budget.left >= units) {
      budget.left -= units
      return budget
    }
    if (nowMs < budget.emptyUntilMs) return limitedBy(budget, units, nowMs)
    return this.#wait(budget, units)
  }

  /** Units of a request that we have failed: they are those of its day, also when that is over. */
  giveBack(budget: Budget, units: number): void {
    budget.left += units
    budget.usedAtMs = this.#options.now()
    if (budget.isReplaced) this.#replaced.add(budget)
  }

  #replace(budget: Budget): void {
    budget.isReplaced = true
    this.#replaced.add(budget)
  }

  /** Returns what is leased. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#returning)
    await this.#returnUnused(true)
  }

  #wait(budget: Budget, units: number): Promise<Budget | Limited | Unknown> {
    const { promise, resolve } = Promise.withResolvers<Budget | Limited | Unknown>()
    budget.waiting.push({ units, resolve })
    if (!budget.isAsking) void this.#ask(budget)
    return promise
  }

  /** One question at a time, for all who wait. */
  async #ask(budget: Budget): Promise<void> {
    budget.isAsking = true
    try {
      while (budget.waiting.length > 0) {
        await this.#lease(budget)
        this.#serve(budget)
      }
    } catch (error) {
      this.#tellAway(error)
      for (const { resolve } of budget.waiting.splice(0)) resolve(UNKNOWN)
    } finally {
      budget.isAsking = false
    }
  }

  #tellAway(error: unknown): void {
    const { log } = this.#options
    if (!(error instanceof AppError)) {
      log.error({ err: error }, 'a quota could not be asked')
      return
    }
    if (!this.#isAway) {
      log.warn({ reason: error.message }, 'the counters do not answer: requests that need them are refused')
    }
    this.#isAway = true
  }

  #tellBack(): void {
    if (this.#isAway) this.#options.log.info({}, 'the counters answer again')
    this.#isAway = false
  }

  /** Takes what is waited for, and more where the day has much left; as much as there is where it has less. */
  async #lease(budget: Budget): Promise<void> {
    const wanted = budget.waiting.reduce((sum, { units }) => sum + units, 0) - budget.left
    if (wanted <= 0) return // units came back meanwhile
    const usual = Math.max(LEASE_UNITS_MIN, Math.floor(budget.limit * LEASE_SHARE))
    const lease = Math.max(wanted, Math.min(usual, Math.floor(budget.rest * LEASE_SHARE_OF_REST)))
    const first = await this.#take(budget, lease)
    if (!first.allowed && first.remaining > 0) await this.#take(budget, Math.min(wanted, first.remaining))
  }

  async #take(budget: Budget, units: number) {
    const { counters, now } = this.#options
    const asked = budget.unanswered ?? { units, once: randomUUID() }
    budget.unanswered = asked
    const taken = await counters.take(budget.key, asked.units, budget.limit, WINDOW_MS, now(), asked.once)
    budget.unanswered = undefined
    this.#tellBack()
    if (taken.allowed) budget.left += asked.units
    budget.rest = taken.remaining
    return taken
  }

  /** Whoever fits passes, in order; the others are told, unless the counters have enough for them. */
  #serve(budget: Budget): void {
    const nowMs = this.#options.now()
    let isUsedUp = false
    for (const waiting of budget.waiting.splice(0)) {
      if (budget.left >= waiting.units) {
        budget.left -= waiting.units
        waiting.resolve(budget)
      } else if (budget.left + budget.rest >= waiting.units) budget.waiting.push(waiting)
      else {
        waiting.resolve(limitedBy(budget, waiting.units, nowMs))
        isUsedUp ||= budget.rest === 0 && budget.left === 0
      }
    }
    if (!isUsedUp) return
    budget.emptyUntilMs = nowMs + EMPTY_MS
    this.#options.onUsedUp?.(budget.account)
  }

  async #returnUnused(isAll: boolean): Promise<void> {
    const nowMs = this.#options.now()
    for (const [account, budget] of this.#budgets) {
      if (nowMs >= budget.endsAtMs) {
        this.#budgets.delete(account)
        this.#replace(budget)
      } else if (isAll || nowMs - budget.usedAtMs >= IDLE_MS) await this.#return(budget, nowMs)
    }
    for (const budget of this.#replaced) {
      await this.#return(budget, nowMs)
      // What it is being asked for may leave some.
      if (!budget.isAsking) this.#replaced.delete(budget)
    }
  }

  async #return(budget: Budget, nowMs: number): Promise<void> {
    const { counters, log } = this.#options
    const units = budget.left
    if (units === 0) return
    budget.left = 0
    try {
      await counters.giveBack(budget.key, units, nowMs)
      budget.rest += units
    } catch (error) {
      // They may have been returned: whoever gave them again might give them twice.
      if (!(error instanceof AppError)) throw error
      log.warn({ units, reason: error.message }, 'units of a quota could not be returned, and are lost')
    }
  }
}

function limitedBy({ limit, left, rest, endsAtMs }: Budget, units: number, nowMs: number): Limited {
  const untilSec = Math.max(1, Math.ceil((endsAtMs - nowMs) / 1_000))
  return {
    status: 'limited',
    reason: 'daily_quota',
    units,
    limit,
    remaining: Math.min(limit, left + rest),
    resetSec: untilSec,
    retryAfterSec: untilSec,
  }
}
