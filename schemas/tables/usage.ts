/** Sort keys: the columns that tell one row from another. */
export const USAGE_TABLES = {
  usage_minutes: ['account', 'minute', 'token_hash', 'protocol', 'network', 'method', 'status', 'writer'],
} as const

/** So long a minute is kept in the table, as its migration says: a year, and the month that is compared with. */
export const USAGE_DAYS_KEPT = 400
