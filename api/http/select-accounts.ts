import { END_OF_DAYS, FIRST_DAY } from '../../schemas/ownership.ts'
import { ownedDaysSql } from '../../schemas/tables/accounts.ts'

/**
 * Keys of validators with the days `[from_day, to_day)` on which the account sees them: those on which it is their owner, and all
 * days where it watches. Days of one key never overlap. A subquery: `chain` and `account` must be bound.
 */
export const SEEN_DAYS = `
  SELECT pubkey, from_day, to_day
  FROM (${ownedDaysSql(`chain = {chain:String} AND pubkey IN
    (SELECT pubkey FROM account_validators WHERE account = {account:String} AND chain = {chain:String})`)})
  WHERE account = {account:String}
    AND pubkey NOT IN (SELECT pubkey FROM watched_validators FINAL WHERE account = {account:String} AND chain = {chain:String})
  UNION ALL
  SELECT pubkey, toDate(${FIRST_DAY}) AS from_day, toDate(${END_OF_DAYS}) AS to_day FROM watched_validators FINAL
  WHERE account = {account:String} AND chain = {chain:String}`

/** The same of validators that the chain's registry knows, with their indices. */
export const ACCOUNT_VALIDATORS = `
  SELECT names.validator_index AS validator_index, names.pubkey AS pubkey, seen.from_day AS from_day, seen.to_day AS to_day
  FROM (SELECT validator_index, pubkey FROM validators FINAL WHERE chain = {chain:String}) AS names
  INNER JOIN (${SEEN_DAYS}) AS seen ON seen.pubkey = names.pubkey`
