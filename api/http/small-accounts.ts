import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { AccountScope, SeenValidator } from './seen-validators.ts'

/** Validators up to which an account is small: nobody whose rows are read with its waits for them. */
export const SMALL_ACCOUNT_MAX = 100
/** Small accounts that one statement reads: their validators are fewer than a statement may name (`VALIDATORS_PER_STATEMENT`). */
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

/**
 * Validators of several accounts with the days on which each sees them as a relation, made of the parameters of `seenByParams`: `nth`
 * account, `validator_index`, `from_day`, `to_day`.
 */
export const SEEN_BY_RELATION = `
  (
    SELECT seen.1 AS nth, seen.2 AS validator_index, seen.3 AS from_day, seen.4 AS to_day
    FROM
    (
      SELECT arrayJoin(arrayZip({seenNth:Array(UInt16)}, {seenIndices:Array(UInt32)}, {seenFrom:Array(UInt16)}, {seenTo:Array(UInt16)})) AS seen
    )
  )`

/** `indices` has each validator once, whoever sees it. */
export function seenByParams(accounts: readonly (readonly SeenValidator[])[]) {
  const days = accounts.flatMap((validators, nth) =>
    validators.flatMap(({ index, intervals }) => intervals.map((interval) => ({ nth, index, ...interval }))),
  )
  return {
    indices: indicesOf(accounts),
    seenNth: days.map(({ nth }) => nth),
    seenIndices: days.map(({ index }) => index),
    seenFrom: days.map(({ fromDay }) => fromDay),
    seenTo: days.map(({ toDay }) => toDay),
  }
}

/** Each validator once. */
export function indicesOf(accounts: readonly (readonly SeenValidator[])[]): readonly number[] {
  return [...new Set(accounts.flat().map(({ index }) => index))]
}
