import type { IncomingMessage } from 'node:http'
import type { Counters } from '../../infra/ports/counters.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Plan } from '../../schemas/plans.ts'
import type { PublicAccess } from '../../schemas/protocols/public-methods.ts'
import { clientOf } from '../http/client.ts'
import { Bill } from './bill.ts'
import { ClientAddresses } from './client-address.ts'
import { type Limited, UNKNOWN, type Unknown } from './limited.ts'
import { Budget, Quotas } from './quotas.ts'
import { Rates } from './rates.ts'
import type { Usage, UsageMinute, UsageOf } from './usage.ts'

const MINUTE_MS = 60_000

export interface MeterOptions {
  /** What is taken of days; shared by all processes. */
  readonly counters: Counters
  /** What clients without a key have asked for; shared likewise. */
  readonly clientCounters: Counters
  readonly planOf: (account: string) => Plan
  readonly trustedProxies?: readonly string[]
  /** Without it nothing is counted but what is taken. */
  readonly usage?: Pick<Usage, 'minuteAt'>
  readonly log: Log
  /** Unix milliseconds on the machine. */
  readonly now?: () => number
}

interface Asked {
  readonly units: number
  readonly nowMs: number
}

/** What a client without a key may ask, wherever it is counted by this name. */
export interface ClientLimit {
  readonly name: string
  readonly perMinute: number
}

/** Passed, with what its units are given back to where we fail. */
export interface Unbudgeted {
  readonly status: 'passed'
}
export const UNBUDGETED: Unbudgeted = { status: 'passed' }

export type Passed = Budget | Unbudgeted
export type Taken = Passed | Limited | Unknown

/** Asked before anything is done for a key or a client: whether it may, by its plan or its address. */
export class Meter implements AsyncDisposable {
  readonly #options: MeterOptions
  readonly #quotas: Quotas
  readonly #rates = new Rates()
  readonly #addresses: ClientAddresses
  readonly #now: () => number
  readonly #usedUp = new Set<(account: string) => void>()

  constructor(options: MeterOptions) {
    const { counters, log, now = Date.now } = options
    this.#options = options
    this.#now = now
    const onUsedUp = (account: string): void => {
      for (const listener of this.#usedUp) listener(account)
    }
    this.#quotas = new Quotas({ counters, log, now, onUsedUp })
    this.#addresses = new ClientAddresses(options.trustedProxies)
  }

  /** Hears of accounts that are refused because nothing is left of their day. */
  onUsedUp(listener: (account: string) => void): void {
    this.#usedUp.add(listener)
  }

  /** Of a request of a key; `endpoint` is what a second's requests are counted at. */
  open(of: UsageOf, endpoint = of.place): Bill {
    const take = (units: number, nowMs: number) => this.#take(of, endpoint, { units, nowMs })
    return new Bill({ meter: this, take, of, now: this.#now })
  }

  /** Of a client without a key, which is nobody's usage: each of its requests counts one at least. */
  openPublic(request: Pick<IncomingMessage, 'socket' | 'headers'>, access: PublicAccess): Bill {
    const { protocol, network, callsPerMinute: perMinute } = access
    const limit = { name: `public:${protocol}/${network}`, perMinute }
    const take = (units: number, nowMs: number) => this.takeOfClient(request, limit, { units, nowMs })
    return new Bill({ meter: this, take, of: undefined, now: this.#now, countsUnread: true })
  }

  /** Takes of the minute that a client without a key has; its address is kept for that minute, as a hash. */
  async takeOfClient(
    request: Pick<IncomingMessage, 'socket' | 'headers'>,
    { name, perMinute }: ClientLimit,
    { units, nowMs }: Asked = { units: 1, nowMs: this.#now() },
  ): Promise<Unbudgeted | Limited | Unknown> {
    const { clientCounters } = this.#options
    const key = `${name}:${clientOf(this.#addresses.of(request))}`
    try {
      const taken = await clientCounters.take(key, units, perMinute, MINUTE_MS, nowMs)
      if (taken.allowed) return UNBUDGETED
      const untilSec = Math.max(1, Math.ceil(taken.resetMs / 1_000))
      const limited = { limit: perMinute, remaining: taken.remaining, resetSec: untilSec, retryAfterSec: untilSec }
      return { status: 'limited', reason: 'ip_limit', units, ...limited }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return UNKNOWN
    }
  }

  minuteAt(nowMs: number): UsageMinute | undefined {
    return this.#options.usage?.minuteAt(nowMs)
  }

  /** Something was told that was not asked for now: it costs nothing. */
  push(of: UsageOf, method: string, bytes: number): void {
    this.minuteAt(this.#now())?.rowOf(of, method, 200).push(bytes)
  }

  /** Takes a request's calls, all or none: of the key's second first, then of the account's day. At once, unless no units are leased. */
  #take({ account, tokenHash }: UsageOf, endpoint: string, { units, nowMs }: Asked): Taken | Promise<Taken> {
    const { requestsPerSecond, requestsPerDay } = this.#options.planOf(account)
    if (requestsPerSecond !== undefined) {
      const limited = this.#rates.take(`${tokenHash} ${endpoint}`, units, requestsPerSecond, performance.now())
      if (limited !== undefined) return limited
    }
    if (requestsPerDay === undefined) return UNBUDGETED
    return this.#quotas.take(account, { units, limit: requestsPerDay, nowMs })
  }

  /** Of a request that we have failed. */
  giveBack(passed: Passed, units: number): void {
    if (passed instanceof Budget) this.#quotas.giveBack(passed, units)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#quotas[Symbol.asyncDispose]()
  }
}
