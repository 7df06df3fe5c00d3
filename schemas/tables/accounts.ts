import { TOKEN_FAMILIES, TOKEN_SCOPES, type TokenLimits } from '../access-token.ts'
import { ALLOW_LISTS, type AllowLists } from '../allow-lists.ts'
import type { StakingEnd } from '../events/staking-broadcast.ts'

/** Sort keys: the columns that tell one row from another. */
export const ACCOUNT_TABLES = {
  access_tokens: ['token_hash'],
  order_ends: ['order_id'],
  account_validators: ['account', 'chain', 'pubkey'],
  validator_owners: ['chain', 'pubkey', 'from_day'],
  watched_validators: ['account', 'chain', 'pubkey'],
  fee_rates: ['account', 'effective_from'],
  settlement_corrections: ['chain', 'account', 'number'],
  locked_settlements: ['chain', 'account', 'slot', 'lock_id'],
  settlement_locks: ['account', 'lock_id'],
  fee_recipients: ['chain', 'pubkey', 'fee_recipient', 'from_day'],
  created_validators: ['chain', 'pubkey'],
  exit_steps: ['chain', 'pubkey', 'step'],
  exit_call_ends: ['chain', 'block_hash', 'log_index'],
  validator_labels: ['chain', 'account', 'pubkey'],
  staking_steps: ['chain', 'transaction_hash', 'step', 'pubkey'],
} as const

/** How far an exit has come, as `exit_steps` has it; the last two are its ends. */
export type ExitStep = 'requested' | 'cancelled' | 'signed' | 'submitted' | 'on_chain' | 'failed'

/** How far a staking transaction has come, as `staking_steps` has it. */
export type StakingStep = 'broadcast' | StakingEnd

/**
 * What a token is for, as `access_tokens` has it: names with commas between them, empty for all families or all chains, and for lists
 * that it has not.
 */
export interface TokenLimitsRow {
  readonly scopes: string
  readonly families: string
  readonly only_chain: string
  readonly only_origins: string
  readonly only_ips: string
  readonly only_methods: string
  readonly only_contracts: string
  readonly order_id: string
  /** Of the order, as it was paid when the token was made; an instant, or empty. */
  readonly order_until: string
}

export function toTokenLimitsRow({
  scopes,
  families = [],
  chain = '',
  allow = {},
  order,
}: TokenLimits): TokenLimitsRow {
  const { origins = [], ips = [], methods = [], contracts = [] } = allow
  return {
    ...{ scopes: scopes.join(','), families: families.join(','), only_chain: chain },
    ...{ only_origins: origins.join(','), only_ips: ips.join(',') },
    ...{ only_methods: methods.join(','), only_contracts: contracts.join(',') },
    ...{ order_id: order?.id ?? '', order_until: order?.until ?? '' },
  }
}

/** Names that this release does not know allow nothing here. */
export function toTokenLimits({
  scopes,
  families,
  only_chain,
  order_id,
  order_until,
  ...row
}: TokenLimitsRow): TokenLimits {
  const namedIn = (text: string) => {
    const names: readonly string[] = text.split(',')
    return (name: string) => names.includes(name)
  }
  return {
    scopes: TOKEN_SCOPES.filter(namedIn(scopes)),
    ...(families === '' ? {} : { families: TOKEN_FAMILIES.filter(namedIn(families)) }),
    ...(only_chain === '' ? {} : { chain: only_chain }),
    ...toAllow(row),
    ...(order_id === '' ? {} : { order: { id: order_id, until: order_until } }),
  }
}

function toAllow(row: Pick<TokenLimitsRow, `only_${keyof AllowLists}`>): Pick<TokenLimits, 'allow'> {
  const lists = ALLOW_LISTS.filter((list) => row[`only_${list}`] !== '')
  if (lists.length === 0) return {}
  return { allow: Object.fromEntries(lists.map((list) => [list, row[`only_${list}`].split(',')])) }
}

/** `created_at_slot` of what was told without one. */
export const UNTOLD_SLOT = -1

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
