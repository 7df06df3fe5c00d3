/** Which limit a request has met: a word for programs. */
export type LimitReason = 'daily_quota' | 'rate_limit' | 'ip_limit'

/** Why a request is not answered now, and when it may be asked again. */
export interface Limited {
  readonly status: 'limited'
  readonly reason: LimitReason
  /** Calls that were asked for together. */
  readonly units: number
  readonly limit: number
  readonly remaining: number
  /** Until all of the limit is there again. */
  readonly resetSec: number
  /** Until as much of it is there as was asked for. */
  readonly retryAfterSec: number
}

/** The counters are away: nobody knows what is left. */
export interface Unknown {
  readonly status: 'unknown'
}
export const UNKNOWN: Unknown = { status: 'unknown' }

/** Where a limit is told, by name. */
export function limitHeaders({ limit, remaining, resetSec, retryAfterSec }: Limited): Readonly<Record<string, string>> {
  return {
    'retry-after': String(retryAfterSec),
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetSec),
  }
}

const WORDS: Readonly<Record<LimitReason, string>> = {
  daily_quota: 'the requests of the day are used up',
  rate_limit: 'the key asks this endpoint too often in a second',
  ip_limit: 'the address asks too often in a minute',
}

/** All of a batch passes, or none; one that is larger than a second's calls waits for them, those of other periods do not come back so soon. */
const PERIODS: Partial<Readonly<Record<LimitReason, string>>> = { daily_quota: 'day', ip_limit: 'minute' }

export function limitWords({ reason, units, limit, remaining }: Limited): string {
  const period = PERIODS[reason]
  if (period === undefined) return WORDS[reason]
  if (units > limit) return `a batch of ${units} calls never passes, the ${period} has ${limit}`
  if (remaining > 0 && remaining < units)
    return `the batch has ${units} calls, and ${remaining} ${remaining === 1 ? 'is' : 'are'} left of the ${period}`
  return WORDS[reason]
}

/** What is answered while the counters are away. */
export const NOT_COUNTED = 'requests cannot be counted at the moment'
