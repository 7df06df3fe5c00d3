/** What an account may ask of all services together. */
export interface Plan {
  readonly name: string
  /** Of the service's day, UTC+8; undefined: as many as it likes. */
  readonly requestsPerDay?: number
  /** Of one key at one endpoint, answered by one process; undefined: as many as it likes. */
  readonly requestsPerSecond?: number
}

/** Of accounts that no plan names. */
export const DEFAULT_PLAN = 'default'

/** What a plan has that its configuration says nothing of. */
export const PLAN_DEFAULTS = { requestsPerDay: 100_000, requestsPerSecond: 50 } as const
