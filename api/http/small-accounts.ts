import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { Interval } from '../../schemas/ownership.ts'
import { inStatements, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import type { AccountScope, SeenValidator } from './seen-validators.ts'

/** A validator with the days on which an account sees it. */
export type SeenDays = Pick<SeenValidator, 'index' | 'intervals'>

/** Validators up to which an account is small: nobody whose rows are read with its waits for them. */
export const SMALL_ACCOUNT_MAX = 100
/** Small accounts that one statement reads: their validators are fewer than a statement may name (`NUMBERS_PER_STATEMENT`). */
export const ACCOUNTS_GATHERED_MAX = 64

/** A warehouse that may read the same of several accounts at once. */
export interface GatheringReader extends WarehouseReader {
  /** Reads an item together with those of one kind that others wait for: results are in the order of the items. */
  gather?<Item, Result>(
    kind: string,
    item: Item,
    readAll: (warehouse: WarehouseReader, items: readonly Item[]) => Promise<readonly Result[]>,
  ): Promise<Result>
}

/**
 * What `readAll` reads for an item of the account; of a small one together with what other small ones wait for: a statement takes the
 * engine so much longer to understand than to read their rows. Kinds are told apart by name and by how the tables stand, so all that is
 * read for one kind is to be of one `readAll`, with nothing that the name does not tell.
 */
export async function readTogether<Item, Result>(
  { standing, account, shared }: AccountScope,
  kind: string,
  item: Item,
  readAll: (warehouse: WarehouseReader, items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<Result> {
  if (shared.gather !== undefined && standing.validatorsOf(account) <= SMALL_ACCOUNT_MAX)
    return await shared.gather(JSON.stringify([kind, standing.chain, standing.position]), item, readAll)
  const [result] = await readAll(shared, [item])
  return result as Result
}

/** Keys that each of `accounts` has or had on the chain. */
export const OWN_KEYS = `
  SELECT DISTINCT toString(of.account) AS account, of.pubkey AS pubkey FROM account_validators AS of
  WHERE of.account IN {accounts:Array(String)} AND of.chain = {chain:String}`
/** With those that it watches. */
export const SEEN_KEYS = `
  SELECT DISTINCT account, pubkey FROM
  (
    ${OWN_KEYS}
    UNION ALL SELECT account, pubkey FROM watched_validators WHERE account IN {accounts:Array(String)} AND chain = {chain:String}
  )`

/** Of rows that name the account that they are of, those of each of the accounts. */
export function byAccount<Row extends { readonly account: string }>(
  accounts: readonly string[],
  rows: readonly Row[],
): readonly (readonly Row[])[] {
  const found = Map.groupBy(rows, ({ account }) => account)
  return accounts.map((account) => found.get(account) ?? [])
}

const RUN_COLUMNS = [
  '{seenNth:Array(UInt16)}',
  '{seenFirst:Array(UInt32)}',
  '{seenLast:Array(UInt32)}',
  '{seenFrom:Array(UInt16)}',
  '{seenTo:Array(UInt16)}',
  '{seenActive:Array(UInt64)}',
]

/**
 * Validators of accounts with the days on which each sees them as a relation, made of the parameters of `seenByParams`: `nth` account,
 * `validator_index`, `from_day`, `to_day`, and `active`, what was given of the validator.
 */
export const SEEN_BY_RELATION = `
  (
    SELECT
      run.1 AS nth, toUInt32(arrayJoin(range(run.2, run.3 + 1))) AS validator_index, run.4 AS from_day, run.5 AS to_day, run.6 AS active
    FROM (SELECT arrayJoin(arrayZip(${RUN_COLUMNS.join(', ')})) AS run)
  )`

/** The validators of that relation, as a set. */
export const SEEN_BY_INDICES = `
  (
    SELECT toUInt32(arrayJoin(range(run.1, run.2 + 1)))
    FROM (SELECT arrayJoin(arrayZip(${RUN_COLUMNS.slice(1, 3).join(', ')})) AS run)
  )`

/** Validators that follow on each other, and of which all else is alike. */
interface Run extends Interval {
  readonly nth: number
  readonly first: number
  last: number
  readonly active: bigint
}

/** Epochs and days of tables are of 32 bits: what is later never is. It has half the digits of the far future of a chain. */
const NEVER = 2n ** 32n - 1n

/** Validators of an account for one statement each: each of their intervals may be a run of `seenByParams`. */
export function seenInStatements<Seen extends SeenDays>(validators: readonly Seen[]): Seen[][] {
  return inStatements(validators, NUMBERS_PER_STATEMENT, ({ intervals }) => intervals.length)
}

/**
 * Parameters of `SEEN_BY_RELATION`. Validators that were created together follow on each other, and are one run: to understand a number takes the engine
 * longer than to read a row. `activeOf` tells of each what the statement wants to know of when it is active: an epoch or a day, `NEVER` at most.
 */
export function seenByParams(
  accounts: readonly (readonly SeenDays[])[],
  activeOf: (index: number, nth: number) => bigint = () => 0n,
) {
  const runs: Run[] = []
  accounts.forEach((validators, nth) => {
    for (const { index, intervals } of validators) {
      const known = activeOf(index, nth)
      const active = known < NEVER ? known : NEVER
      for (const { fromDay, toDay } of intervals) {
        const run = runs.at(-1)
        const isNext = run?.nth === nth && run.last + 1 === index && run.active === active
        if (isNext && run.fromDay === fromDay && run.toDay === toDay) run.last = index
        else runs.push({ nth, first: index, last: index, fromDay, toDay, active })
      }
    }
  })
  return {
    seenNth: runs.map(({ nth }) => nth),
    seenFirst: runs.map(({ first }) => first),
    seenLast: runs.map(({ last }) => last),
    seenFrom: runs.map(({ fromDay }) => fromDay),
    seenTo: runs.map(({ toDay }) => toDay),
    seenActive: runs.map(({ active }) => active),
  }
}

/** Each validator once. */
export function indicesOf(accounts: readonly (readonly Pick<SeenDays, 'index'>[])[]): readonly number[] {
  return [...new Set(accounts.flat().map(({ index }) => index))]
}
