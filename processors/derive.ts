import type { JobQueue } from '../infra/ports/job-queue.ts'
import type { Log } from '../infra/ports/log.ts'
import type { Warehouse } from '../infra/ports/warehouse.ts'
import { daySpan } from '../schemas/eth/day-span.ts'
import {
  type ChainClock,
  type DayNumber,
  dayOfInstant,
  dayOfSlot,
  firstSlotOfDay,
  firstSlotOfEpoch,
  formatDay,
  lastSlotOfEpoch,
} from '../schemas/eth/time.ts'
import { type DeriveDayInput, deriveDay } from '../schemas/jobs/derive-day.ts'
import { type FoldNftInput, foldNft } from '../schemas/jobs/fold-nft.ts'
import { type SettleAccountInput, settleAccount } from '../schemas/jobs/settle-account.ts'
import { FOLDED_TABLES } from '../schemas/tables/nft.ts'
import { dropPartitions } from './loop/partitions.ts'
import type { Touched } from './loop/rows.ts'
import { NamedValidators } from './named-validators.ts'
import { foldChain } from './nft/fold.ts'
import { completeEpochs } from './rewards/complete-epochs.ts'
import { chainClock, chainClocks, closeDay } from './rewards/days.ts'
import { daysOfUnsummedMonths } from './rewards/months.ts'
import { settleBlocks } from './settlements/settle.ts'

/**
 * Batches that touch one day come in quick succession while the log catches up, and a run costs a third of a second: there is one for
 * all that comes in this time.
 */
export const DERIVE_DELAY_MS = 1_500

/** Accounts that are settled at once: to understand the statement takes the engine most of the time. */
export const ACCOUNTS_TOGETHER_MAX = 64

const NEVER = new AbortController().signal

/** Work that rows of several events ask for. */
export interface Wanted {
  fold(input: FoldNftInput): Promise<void>
  day(input: DeriveDayInput): Promise<void>
  account(input: SettleAccountInput): Promise<void>
}

/** Asks the job queue, which does each thing once however often it is asked for meanwhile. */
export function wantedByJobs(queue: JobQueue, log: Log): Wanted {
  return {
    // Whoever asks who holds a token waits for it.
    fold: (input) => queue.request(foldNft.name, foldNft.idOf(input), input),
    day: (input) => {
      log.debug(input, 'day wanted')
      return queue.request(deriveDay.name, deriveDay.idOf(input), input, { delayMs: DERIVE_DELAY_MS })
    },
    account: (input) =>
      queue.request(settleAccount.name, settleAccount.idOf(input), input, { delayMs: DERIVE_DELAY_MS }),
  }
}

/** Finds out what a batch's rows complete, and wants it done. */
export class Derivation {
  readonly #warehouse: Warehouse
  readonly #wanted: Wanted
  /** They stay the same for as long as a chain is there. */
  #clocks = new Map<string, ChainClock>()
  /** Chains that had none, by what was written before it was looked for: each block of a chain without a beacon chain asks. */
  readonly #clockless = new Map<string, number>()

  constructor(warehouse: Warehouse, wanted: Wanted) {
    this.#warehouse = warehouse
    this.#wanted = wanted
  }

  /** A chain was removed: one of its name may have another clock. */
  forgetClocks(): void {
    this.#clocks = new Map()
  }

  readonly derive = async (touched: readonly Touched[]): Promise<void> => {
    const folds = new Set<string>()
    const epochs = new Map<string, Set<number>>()
    const days = new Map<string, Set<number>>()
    const named = new Map<string, NamedValidators>()
    const proposers = new Map<string, NamedValidators>()
    const accounts = new Set<string>()
    for (const touch of touched) {
      if (touch.kind === 'execution block' || touch.kind === 'execution logs') folds.add(touch.chain)
      if (touch.kind === 'epoch') setOf(epochs, touch.chain).add(touch.epoch)
      else if (touch.kind === 'execution block') setOf(days, touch.chain).add(dayOfInstant(touch.unixSec))
      else if (touch.kind === 'execution logs') continue
      else if (touch.kind === 'deposit contract')
        for (const day of await this.#daysOfChain(touch.chain)) setOf(days, touch.chain).add(day)
      else if (touch.kind === 'account') accounts.add(touch.account)
      else {
        for (const all of touch.kind === 'proposers' ? [named, proposers] : [named]) {
          const before = all.get(touch.chain) ?? new NamedValidators()
          all.set(touch.chain, before)
          before.add(touch)
        }
      }
    }
    for (const chain of folds) await this.#wanted.fold({ chain })
    for (const [chain, some] of proposers)
      for (const day of await this.#daysOfProposers(chain, some)) setOf(days, chain).add(day)
    for (const [chain, some] of epochs)
      for (const day of await this.#daysOf(chain, [...some])) setOf(days, chain).add(day)
    for (const [chain, some] of days) {
      // Without a clock there is no finalized epoch yet, or never will be: nothing to settle or close.
      if ((await this.#clock(chain)) === undefined) continue
      for (const day of some) await this.#wanted.day({ chain, day })
    }
    for (const [chain, some] of named) for (const account of await this.#accountsOf(chain, some)) accounts.add(account)
    for (const account of accounts) await this.#wanted.account({ account })
  }

  /** Days that complete epochs may close: those that the epoch lies in, and the one that its first balances end. */
  async #daysOf(chain: string, epochs: readonly number[]): Promise<ReadonlySet<number>> {
    const complete = await completeEpochs(this.#warehouse, chain, epochs)
    if (complete.length === 0) return new Set()
    const clock = await this.#clock(chain)
    if (clock === undefined) {
      // The chain was removed while they were written.
      await dropPartitions(this.#warehouse, ['epochs'], chain)
      return new Set()
    }
    return new Set(
      complete.flatMap((epoch) => {
        const first = firstSlotOfEpoch(clock, epoch)
        return [first - 1, first, lastSlotOfEpoch(clock, epoch)].map((slot) => dayOfSlot(clock, slot))
      }),
    )
  }

  /** All days that have blocks: a log is told once what its chain's deposit contract is, mostly before it has any. */
  async #daysOfChain(chain: string): Promise<ReadonlySet<number>> {
    const clock = await this.#clock(chain)
    if (clock === undefined) return new Set()
    const rows = await this.#warehouse.query<{ slot: string }>(
      'SELECT min(slot) AS slot FROM finalized_blocks WHERE chain = {chain:String} GROUP BY day',
      { chain },
    )
    return new Set(rows.map(({ slot }) => dayOfSlot(clock, Number(slot))))
  }

  /** Days in which these validators proposed: what their blocks paid them depends on which addresses are theirs. */
  async #daysOfProposers(chain: string, validators: NamedValidators): Promise<ReadonlySet<number>> {
    const clock = await this.#clock(chain)
    if (clock === undefined) return new Set()
    const slots = await this.#ask<{ slot: string }>(chain, validators, (pubkeys) => {
      return `SELECT min(slot) AS slot FROM finalized_blocks
        WHERE chain = {chain:String} AND proposer_index IN (
          SELECT validator_index FROM validators WHERE chain = {chain:String} AND pubkey IN ${pubkeys}
        )
        GROUP BY day`
    })
    return new Set(slots.map(({ slot }) => dayOfSlot(clock, Number(slot))))
  }

  async #accountsOf(chain: string, validators: NamedValidators): Promise<readonly string[]> {
    const rows = await this.#ask<{ account: string }>(chain, validators, (pubkeys) => {
      return `SELECT DISTINCT account FROM account_validators WHERE chain = {chain:String} AND pubkey IN ${pubkeys}`
    })
    return rows.map(({ account }) => account)
  }

  /** Asks a question about validators, in as many parts as it takes: a row may come more than once. */
  async #ask<Row>(
    chain: string,
    validators: NamedValidators,
    toSql: (pubkeys: string) => string,
  ): Promise<readonly Row[]> {
    const rows: Row[] = []
    for (const { set, params } of validators.questions())
      for (const row of await this.#warehouse.query<Row>(toSql(set), { chain, ...params })) rows.push(row)
    return rows
  }

  async #clock(chain: string): Promise<ChainClock | undefined> {
    const clocks = this.#clocks
    const known = clocks.get(chain)
    if (known !== undefined) return known
    const writes = this.#warehouse.writesOf?.(['chains'])
    if (writes !== undefined && writes === this.#clockless.get(chain)) return undefined
    const clock = await chainClock(this.#warehouse, chain)
    // Into the map that the question began with: it may have been forgotten meanwhile.
    if (clock !== undefined) clocks.set(chain, clock)
    else if (writes !== undefined) this.#clockless.set(chain, writes)
    return clock
  }
}

/** The set of a key, made when it is missing. */
export function setOf<Key, Value>(sets: Map<Key, Set<Value>>, key: Key): Set<Value> {
  const known = sets.get(key)
  if (known !== undefined) return known
  const made = new Set<Value>()
  sets.set(key, made)
  return made
}

/**
 * Settles the finalized blocks of a day, and closes the day once all of it is there: false while it stays open. `settles` is false
 * where all accounts are settled as well, which settles every block.
 */
export async function runDeriveDay(
  warehouse: Warehouse,
  { chain, day }: DeriveDayInput,
  { settles = true }: { readonly settles?: boolean } = {},
): Promise<boolean> {
  const clock = await chainClock(warehouse, chain)
  if (clock !== undefined) {
    const [from, to] = [firstSlotOfDay(clock, day), firstSlotOfDay(clock, day + 1) - 1]
    if (settles) await settleBlocks(warehouse, { by: 'slots', chain, from, to })
    const span = daySpan(clock, day)
    const isClosed = span !== undefined && (await closeDay(warehouse, chain, span))
    if ((await chainClock(warehouse, chain)) !== undefined) return isClosed
  }
  // The chain was removed: what was derived from its rows while they were dropped goes too.
  await dropPartitions(warehouse, DERIVED_TABLES, chain)
  return false
}

/** Folds what is there of a chain. */
export async function runFoldNft(warehouse: Warehouse, { chain }: FoldNftInput, signal: AbortSignal): Promise<number> {
  // Of no table: of statements that may change any, as those do that drop rows.
  const drops = warehouse.writesOf?.([])
  const folded = await foldChain(warehouse, chain, signal)
  const isUndisturbed = folded === 0 || (drops !== undefined && drops === warehouse.writesOf?.([]))
  // The chain was removed: what was folded of its rows while they were dropped goes too.
  if (!isUndisturbed && !(await foldable(warehouse)).includes(chain))
    await dropPartitions(warehouse, FOLDED_TABLES, chain)
  return folded
}

/** Chains that have execution blocks. */
async function foldable(warehouse: Warehouse): Promise<readonly string[]> {
  const rows = await warehouse.query<{ chain: string }>('SELECT DISTINCT chain FROM execution_heights')
  return rows.map(({ chain }) => chain)
}

/** Settles all blocks of accounts, `ACCOUNTS_TOGETHER_MAX` at most. */
export async function runSettleAccounts(warehouse: Warehouse, accounts: readonly string[]): Promise<void> {
  await settleBlocks(warehouse, { by: 'accounts', accounts })
  const removed = await warehouse.query<{ chain: string }>(
    'SELECT DISTINCT chain FROM settlements WHERE chain NOT IN (SELECT chain FROM chains)',
  )
  for (const { chain } of removed) await dropPartitions(warehouse, ['settlements'], chain)
}

/** Rows of them are made of rows of other tables, of chains that have a clock. */
const DERIVED_TABLES = [
  'epochs',
  'daily_rewards',
  'closed_days',
  'monthly_rewards',
  'closed_months',
  'settlements',
] as const

/**
 * Asks for everything that may be left to do: a queue may have lost what it was asked for. Days that are open although epochs of
 * them are complete, months that are not summed, and every account's settlements.
 */
export async function wantOpenWork(warehouse: Warehouse, wanted: Wanted): Promise<void> {
  for (const [chain, clock] of await chainClocks(warehouse)) {
    const days = [...(await openDays(warehouse, chain, clock)), ...(await daysOfUnsummedMonths(warehouse, chain))]
    for (const day of days) await wanted.day({ chain, day })
  }
  for (const account of await everyAccount(warehouse)) await wanted.account({ account })
  for (const chain of await foldable(warehouse)) await wanted.fold({ chain })
}

/** Days that are open although epochs of them are complete. */
export async function openDays(warehouse: Warehouse, chain: string, clock: ChainClock): Promise<readonly DayNumber[]> {
  const closed = await warehouse.query<{ day: string }>(
    'SELECT day FROM closed_days FINAL WHERE chain = {chain:String}',
    { chain },
  )
  const isClosed = new Set(closed.map(({ day }) => day))
  return [...(await daysOfEpochs(warehouse, chain, clock))].filter((day) => !isClosed.has(formatDay(day)))
}

/** Makes every figure of several events again, of one chain if it is given. */
export async function deriveEverything(warehouse: Warehouse, chain?: string): Promise<void> {
  for (const day of await everyDay(warehouse, chain)) await runDeriveDay(warehouse, day, { settles: false })
  await settleEverybody(warehouse)
  await foldEverything(warehouse, NEVER, chain)
}

/** Folds all chains, or one; a part of them when the signal aborts. */
export async function foldEverything(warehouse: Warehouse, signal: AbortSignal, chain?: string): Promise<void> {
  for (const one of await foldable(warehouse)) {
    if (chain === undefined || one === chain) await runFoldNft(warehouse, { chain: one }, signal)
  }
}

/** What was asked for, each thing once. */
export interface Together {
  /** Chains that are folded. */
  readonly chains: ReadonlySet<string>
  readonly days: Iterable<DeriveDayInput>
  readonly accounts: ReadonlySet<string>
}

/** Makes figures of several events; what is settled by account is not settled by day, too. */
export async function deriveTogether(warehouse: Warehouse, { chains, days, accounts }: Together): Promise<void> {
  for (const chain of chains) await runFoldNft(warehouse, { chain }, NEVER)
  const settles = !(await everyAccount(warehouse)).every((account) => accounts.has(account))
  for (const day of days) await runDeriveDay(warehouse, day, { settles })
  for (const some of inTogether([...accounts])) await runSettleAccounts(warehouse, some)
}

/** Days that complete epochs lie in, of one chain if it is given. */
export async function everyDay(warehouse: Warehouse, chain?: string): Promise<readonly DeriveDayInput[]> {
  const days: DeriveDayInput[] = []
  for (const [name, clock] of await chainClocks(warehouse)) {
    if (chain !== undefined && name !== chain) continue
    for (const day of await daysOfEpochs(warehouse, name, clock)) days.push({ chain: name, day })
  }
  return days
}

/** Settles all blocks of all accounts. */
export async function settleEverybody(warehouse: Warehouse): Promise<void> {
  for (const some of inTogether(await everyAccount(warehouse))) await runSettleAccounts(warehouse, some)
}

/** Days that a chain's complete epochs lie in. */
async function daysOfEpochs(warehouse: Warehouse, chain: string, clock: ChainClock): Promise<ReadonlySet<number>> {
  const slots = await warehouse.query<{ first_slot: string; last_slot: string }>(
    'SELECT first_slot, last_slot FROM epochs FINAL WHERE chain = {chain:String}',
    { chain },
  )
  return new Set(slots.flatMap((row) => [row.first_slot, row.last_slot].map((slot) => dayOfSlot(clock, Number(slot)))))
}

/** All of some accounts, in groups that are settled at once. */
export function inTogether(accounts: readonly string[]): readonly (readonly string[])[] {
  const groups = Math.ceil(accounts.length / ACCOUNTS_TOGETHER_MAX)
  return Array.from({ length: groups }, (_, i) =>
    accounts.slice(i * ACCOUNTS_TOGETHER_MAX, (i + 1) * ACCOUNTS_TOGETHER_MAX),
  )
}

/** Accounts that have validators. */
export async function everyAccount(warehouse: Warehouse): Promise<readonly string[]> {
  const rows = await warehouse.query<{ account: string }>('SELECT DISTINCT account FROM account_validators')
  return rows.map(({ account }) => account)
}

/** Jobs that make figures of several events. */
export const DERIVING_JOBS = [deriveDay.name, settleAccount.name, foldNft.name] as const
