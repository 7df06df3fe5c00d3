/** Sort keys: the columns that tell one row from another. */
export const ACCOUNT_TABLES = {
  access_tokens: ['token_hash'],
  account_validators: ['account', 'chain', 'pubkey'],
  validator_owners: ['chain', 'pubkey', 'from_day'],
  watched_validators: ['account', 'chain', 'pubkey'],
  fee_rates: ['account', 'effective_from'],
  settlement_corrections: ['chain', 'account', 'number'],
  fee_recipients: ['chain', 'pubkey', 'fee_recipient', 'from_day'],
} as const

/**
 * Who has which validator on which days `[from_day, to_day)`: rows of `validator_owners` are points, each of which counts until
 * the next one of the same validator, so that a day has one owner. `where` is a condition on their columns that leaves no point
 * of a validator out: on chain or pubkey.
 */
export function ownedDaysSql(where: string): string {
  return `
  SELECT
    chain, pubkey, account, from_day,
    leadInFrame(from_day, 1, toDate(65535)) OVER (
      PARTITION BY chain, pubkey ORDER BY from_day ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
    ) AS to_day
  FROM validator_owners FINAL
  WHERE ${where}`
}
