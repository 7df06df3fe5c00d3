import type { IncomingMessage } from 'node:http'
import type { Counters } from '../../infra/ports/counters.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import type { Plan } from '../../schemas/plans.ts'
import type { PublicAccess } from '../../schemas/protocols/public-methods.ts'
import { clientOf } from '../http/client.ts'
import { ClientAddresses } from './client-address.ts'
import { type Limited, UNKNOWN, type Unknown } from './limited.ts'
import { Budget, Quotas } from './quotas.ts'
import { Rates } from './rates.ts'

const MINUTE_MS = 60_000

export interface MeterOptions {
  /** What is taken of days; shared by all processes. */
  readonly counters: Counters
  /** What clients without a key have asked for; shared likewise. */
  readonly clientCounters: Counters
  readonly planOf: (account: string) => Plan
  readonly trustedProxies?: readonly string[]
  readonly log: Log
  /** Unix milliseconds on the machine. */
  readonly now?: () => number
}

/** What asks. */
export interface Asking {
  readonly account: string
  /** SHA-256 of the key, hex. */
  readonly tokenHash: string
  /** What a second's requests are counted at. */
  readonly endpoint: string
  /** Calls. */
  readonly units: number
}

/** Passed, with what its units are given back to where we fail. */
export interface Unbudgeted {
  readonly status: 'passed'
}
const UNBUDGETED: Unbudgeted = { status: 'passed' }

export type Passed = Budget | Unbudgeted
export type Taken = Passed | Limited | Unknown

/** Asked before anything is done for a key or a client: whether it may, by its plan or its address. */
export class Meter implements AsyncDisposable {
  readonly #options: MeterOptions
  readonly #quotas: Quotas
  readonly #rates = new Rates()
  readonly #addresses: ClientAddresses

  constructor(options: MeterOptions) {
    const { counters, log, now = Date.now } = options
    this.#options = options
    this.#quotas = new Quotas({ counters, log, now })
    this.#addresses = new ClientAddresses(options.trustedProxies)
  }

  /** Takes a request's calls, all or none: of the key's second first, then of the account's day. At once, unless no units are leased. */
  take({ account, tokenHash, endpoint, units }: Asking): Taken | Promise<Taken> {
    const { requestsPerSecond, requestsPerDay } = this.#options.planOf(account)
    if (requestsPerSecond !== undefined) {
      const limited = this.#rates.take(`${tokenHash} ${endpoint}`, units, requestsPerSecond, performance.now())
      if (limited !== undefined) return limited
    }
    return requestsPerDay === undefined ? UNBUDGETED : this.#quotas.take(account, units, requestsPerDay)
  }

  /** Takes of the minute that a client without a key has; its address is kept for that minute, as a hash. */
  async takePublic(
    request: Pick<IncomingMessage, 'socket' | 'headers'>,
    { protocol, network, callsPerMinute }: PublicAccess,
    units: number,
  ): Promise<Taken> {
    const { clientCounters, now = Date.now } = this.#options
    const key = `public:${protocol}/${network}:${clientOf(this.#addresses.of(request))}`
    try {
      const taken = await clientCounters.take(key, units, callsPerMinute, MINUTE_MS, now())
      if (taken.allowed) return UNBUDGETED
      const untilSec = Math.max(1, Math.ceil(taken.resetMs / 1_000))
      const limited = { limit: callsPerMinute, remaining: taken.remaining, resetSec: untilSec, retryAfterSec: untilSec }
      return { status: 'limited', reason: 'ip_limit', ...limited }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return UNKNOWN
    }
  }

  /** Of a request that we have failed. */
  giveBack(passed: Passed, units: number): void {
    if (passed instanceof Budget) this.#quotas.giveBack(passed, units)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#quotas[Symbol.asyncDispose]()
  }
}
