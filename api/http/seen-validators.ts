import type { DayNumber } from '../../schemas/eth/time.ts'
import { END_OF_DAYS, FIRST_DAY, type Interval } from '../../schemas/ownership.ts'
import { ownedDaysSql } from '../../schemas/tables/accounts.ts'
import { byAccount, type GatheringReader, readTogether } from './small-accounts.ts'
import { StandingMemo } from './standing-memo.ts'
import type { Standing } from './standings.ts'

/** Whose figures are asked for, and how what is kept of them is made. */
export interface AccountScope {
  readonly standing: Standing
  readonly account: string
  /** Within the account's share, and not ended with the request that happens to ask first. */
  readonly shared: GatheringReader
}

/** A validator with the days on which an account sees it: those on which it is its owner, or all days where it watches. */
export interface SeenValidator {
  readonly index: number
  readonly pubkey: string
  readonly withdrawalCredentials: string
  /** They do not overlap. */
  readonly intervals: readonly Interval[]
}

export interface SeenValidators {
  /** Those that the chain's registry knows, by ascending index. */
  readonly registered: readonly SeenValidator[]
  /** Those that it does not know: days of each. */
  readonly unregistered: readonly UnregisteredDays[]
}

/** Days of a validator that the registry does not know. */
export interface UnregisteredDays extends Interval {
  readonly pubkey: string
}

interface SeenRow {
  readonly account: string
  readonly pubkey: string
  readonly from_day: number
  readonly to_day: number
  readonly is_registered: number
  readonly validator_index: number
  readonly withdrawal_credentials: string
}

const KEYS_OF_ACCOUNTS = `
    SELECT pubkey FROM account_validators WHERE account IN {accounts:Array(String)} AND chain = {chain:String}
    UNION ALL SELECT pubkey FROM watched_validators WHERE account IN {accounts:Array(String)} AND chain = {chain:String}`

// Days of one key never overlap.
const SEEN = `
  SELECT
    seen.account AS account, seen.pubkey AS pubkey, toUInt16(seen.from_day) AS from_day, toUInt16(seen.to_day) AS to_day,
    names.is_registered AS is_registered, names.validator_index AS validator_index,
    toString(names.withdrawal_credentials) AS withdrawal_credentials
  FROM
  (
    SELECT account, pubkey, from_day, to_day
    FROM (${ownedDaysSql(`chain = {chain:String} AND pubkey IN
      (SELECT pubkey FROM account_validators WHERE account IN {accounts:Array(String)} AND chain = {chain:String})`)})
    WHERE account IN {accounts:Array(String)} AND (account, pubkey) NOT IN
      (SELECT account, pubkey FROM watched_validators FINAL WHERE account IN {accounts:Array(String)} AND chain = {chain:String})
    UNION ALL
    SELECT account, pubkey, toDate(${FIRST_DAY}) AS from_day, toDate(${END_OF_DAYS}) AS to_day
    FROM watched_validators FINAL
    WHERE account IN {accounts:Array(String)} AND chain = {chain:String}
  ) AS seen
  LEFT JOIN
  (
    SELECT pubkey, validator_index, withdrawal_credentials, 1 AS is_registered FROM validators FINAL
    WHERE chain = {chain:String} AND pubkey IN (${KEYS_OF_ACCOUNTS})
  ) AS names ON names.pubkey = seen.pubkey
  ORDER BY validator_index, from_day`

const seenMemo = new StandingMemo<SeenValidators>(
  ({ registered, unregistered }) => registered.length + unregistered.length,
)

/** The account's validators on the chain as they stand, those that it had before among them. */
export function seenValidators(scope: AccountScope): Promise<SeenValidators> {
  const { standing, account } = scope
  return seenMemo.of(standing, account, () =>
    readTogether(scope, 'seen', account, async (warehouse, accounts) => {
      const rows = await warehouse.query<SeenRow>(SEEN, { chain: standing.chain, accounts })
      return byAccount(accounts, rows).map(toSeenValidators)
    }),
  )
}

function toSeenValidators(rows: readonly SeenRow[]): SeenValidators {
  const byKey = Map.groupBy(
    rows.filter((row) => row.is_registered === 1),
    (row) => row.pubkey,
  )
  return {
    registered: [...byKey.values()].flatMap(toSeen),
    unregistered: rows
      .filter((row) => row.is_registered === 0)
      .map((row) => ({ pubkey: row.pubkey, ...toInterval(row) })),
  }
}

function toSeen(rows: readonly SeenRow[]): SeenValidator[] {
  return rows.slice(0, 1).map((row) => ({
    index: row.validator_index,
    pubkey: row.pubkey,
    withdrawalCredentials: row.withdrawal_credentials,
    intervals: rows.map(toInterval),
  }))
}

function toInterval(row: SeenRow): Interval {
  return { fromDay: row.from_day, toDay: row.to_day }
}

export function isIn({ fromDay, toDay }: Interval, day: DayNumber): boolean {
  return fromDay <= day && day < toDay
}
