import type { JobQueue } from '../infra/ports/job-queue.ts'
import type { Log } from '../infra/ports/log.ts'
import type { Warehouse } from '../infra/ports/warehouse.ts'
import { AppError } from '../schemas/errors.ts'
import { type DeriveDayInput, deriveDay } from '../schemas/jobs/derive-day.ts'
import { type FoldNftInput, foldNft } from '../schemas/jobs/fold-nft.ts'
import { settleAccount } from '../schemas/jobs/settle-account.ts'
import { pause } from '../schemas/wait.ts'
import {
  ACCOUNTS_TOGETHER_MAX,
  everyAccount,
  everyDay,
  foldEverything,
  inTogether,
  runDeriveDay,
  runFoldNft,
  runSettleAccounts,
} from './derive.ts'
import { Gathering } from './gathering.ts'
import { takeBackDay, takeBackSettlements } from './loop/drop-chains.ts'
import { type FactsSource, type LogFacts, retractedSince } from './loop/log-facts.ts'
import { FILLING_BLOCKS_MIN, mergeFolded, mergeSmall } from './nft/merges.ts'
import { closedValidators, formatClosedDay, readClosedDay } from './rewards/closed-day.ts'

const WORKERS_PER_JOB = 1
/** Chains, of which one that rests keeps no other waiting. */
const FOLDS_AT_ONCE = 4
/**
 * While history streams in, a day is wanted again as soon as it was derived and stays open: deriving is to take a small share of the
 * time however slow the machine is. So many times as long as a run took nothing is derived of that day, up to a limit, which is well
 * below what `verify` takes for a standstill.
 */
const REST_PER_RUN = 15
const REST_MAX_MS = 2_500

/** How often it is looked whether folded tables have many parts, and how long no months were folded by then. */
const MERGE_EVERY_MS = 60_000

/** How long a day that stays open rests after it was derived in `tookMs`. */
export function restMs(tookMs: number): number {
  return Math.min(REST_PER_RUN * tookMs, REST_MAX_MS)
}

export interface Working {
  readonly warehouse: Warehouse
  readonly jobQueue: JobQueue
  readonly log: Log
  /** The log's facts. Of epochs that they tell to be retracted, the rows are dropped already. */
  readonly facts: FactsSource
}

/** The work of this process on what was asked for, by whichever process. */
export class DerivationWork {
  readonly #ports: Working
  /** Of days that stayed open and chains that were folded, until when they rest, as `performance.now()` tells it. */
  readonly #restUntilMs = new Map<string, number>()
  readonly #hurrying = new AbortController()
  /** Accounts, with the number of the attempt. */
  readonly #settlements = new Gathering<{ readonly account: string; readonly attempt: number }>(async (asked) => {
    const attempt = asked.reduce((most, one) => Math.max(most, one.attempt), 0)
    const accounts = asked.map(({ account }) => account)
    try {
      await this.#busy(() => settleUndisturbed(this.#ports, accounts, attempt))
    } catch (error) {
      // What fails for one the queue tells of; nobody else would tell of what fails for several alone.
      if (accounts.length > 1) {
        const reason = error instanceof Error ? error.message : String(error)
        this.#ports.log.warn({ accounts: accounts.length, reason }, 'accounts were not settled together')
      }
      throw error
    }
  })
  #running = 0
  #lastEndedMs = Number.NEGATIVE_INFINITY
  #filledMs = Number.NEGATIVE_INFINITY

  constructor(ports: Working) {
    this.#ports = ports
  }

  /** Milliseconds since a job of this process has ended; 0 while one runs, infinite before the first. */
  idleMs(): number {
    return this.#running > 0 ? 0 : performance.now() - this.#lastEndedMs
  }

  /** From now on no day rests: the process is about to end. */
  hurry(): void {
    this.#hurrying.abort()
  }

  /** Works until the signal aborts; resolves after the running jobs. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#work(deriveDay.name, (input, attempt) => this.#deriveDay(deriveDay.parse(input), attempt, signal), signal),
      this.#work(
        settleAccount.name,
        (input, attempt) => this.#settlements.do({ account: settleAccount.parse(input).account, attempt }),
        signal,
        ACCOUNTS_TOGETHER_MAX,
      ),
      this.#work(foldNft.name, (input) => this.#fold(foldNft.parse(input), signal), signal, FOLDS_AT_ONCE),
      this.#mergeFolded(signal),
    ])
  }

  async #mergeFolded(signal: AbortSignal): Promise<void> {
    const { warehouse, log } = this.#ports
    for (;;) {
      await pause(MERGE_EVERY_MS, signal)
      if (signal.aborted) return
      if (performance.now() - this.#filledMs < MERGE_EVERY_MS) continue
      const begin = performance.now()
      try {
        const partitions = await mergeFolded(warehouse, signal)
        const tookMs = Math.round(performance.now() - begin)
        if (partitions > 0) log.info({ partitions, tookMs }, 'tables of tokens were merged')
        await mergeSmall(warehouse, signal)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        // Where a partition is dropped or exchanged meanwhile, its merge ends; rows are what they were.
        log.warn({ code: error.code }, `tables of tokens were not merged: ${error.message}`)
      }
    }
  }

  /** As a day it rests, where it finds several blocks: of those that come one by one each is folded at once. */
  async #fold(input: FoldNftInput, signal: AbortSignal): Promise<void> {
    const id = `fold ${foldNft.idOf(input)}`
    await this.#rest(id, signal)
    const begin = performance.now()
    const blocks = await this.#busy(() => runFoldNft(this.#ports.warehouse, input, signal))
    const end = performance.now()
    if (blocks >= FILLING_BLOCKS_MIN) this.#filledMs = end
    if (blocks > 1) this.#restUntilMs.set(id, end + restMs(end - begin))
    this.#ports.log.debug({ ...input, blocks }, 'blocks folded')
  }

  /** Waits until what was done under this name has rested. */
  async #rest(id: string, signal: AbortSignal): Promise<void> {
    const now = performance.now()
    const restLeftMs = Math.max(0, (this.#restUntilMs.get(id) ?? now) - now)
    await pause(restLeftMs, AbortSignal.any([signal, this.#hurrying.signal]))
    this.#restUntilMs.delete(id)
  }

  async #deriveDay(input: DeriveDayInput, attempt: number, signal: AbortSignal): Promise<void> {
    const id = deriveDay.idOf(input)
    await this.#rest(id, signal)
    const begin = performance.now()
    const isClosed = await this.#busy(() => this.#deriveDayNow(input, attempt))
    const end = performance.now()
    if (!isClosed) this.#restUntilMs.set(id, end + restMs(end - begin))
  }

  async #deriveDayNow(input: DeriveDayInput, attempt: number): Promise<boolean> {
    const { warehouse, log } = this.#ports
    const before = await closedValidators(warehouse, input)
    const isClosed = await deriveUndisturbed(this.#ports, input, { attempt })
    log.debug({ ...input, isClosed }, 'day derived')
    const closed = isClosed ? await readClosedDay(warehouse, input) : undefined
    // Each batch that touches a closed day closes it again: that is no news.
    if (closed !== undefined && closed.validators !== before) log.info(closed, formatClosedDay(closed))
    return isClosed
  }

  async #busy<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#running++
    try {
      return await work()
    } finally {
      this.#running--
      this.#lastEndedMs = performance.now()
    }
  }

  async #work(
    name: string,
    handle: (input: unknown, attempt: number) => Promise<void>,
    signal: AbortSignal,
    concurrency = WORKERS_PER_JOB,
  ): Promise<void> {
    await this.#ports.jobQueue.work({
      name,
      concurrency,
      signal,
      handle: ({ input, attempt }) => handle(input, attempt),
    })
  }
}

type Deriving = Pick<Working, 'warehouse' | 'facts'>

// What a job has read may be dropped before it writes what follows from it. So the facts are asked for behind it, as they are
// behind the inserts of a batch: were epochs retracted meanwhile, its rows are taken back and made anew. What is retracted
// later than that is dropped later than its rows were written. A run that was killed before it has asked has left its rows, and was
// not acknowledged: the run after it, an attempt above 1, does not know what the facts were, and takes back what any retraction may
// have left.

/** Whoever derives everything does not know whether somebody was killed at it. */
const MAYBE_AGAIN = 2

/** The facts that a run has begun with, as far as it knows: `attempt` counts from 1. */
async function factsBefore(facts: FactsSource, attempt: number): Promise<LogFacts> {
  const now = await facts.current()
  return attempt > 1 ? { ...now, retracted: new Map() } : now
}

/** Everything that is derived of what is there, of rows that still count when it is done; a part when the signal aborts. */
export async function deriveAllUndisturbed(deriving: Deriving, signal: AbortSignal): Promise<void> {
  // Days first: what is taken back of one that was retracted meanwhile is settled again with its accounts.
  for (const day of await everyDay(deriving.warehouse)) {
    if (signal.aborted) return
    await deriveUndisturbed(deriving, day, { attempt: MAYBE_AGAIN, settles: false })
  }
  for (const accounts of inTogether(await everyAccount(deriving.warehouse))) {
    if (signal.aborted) return
    await settleUndisturbed(deriving, accounts, MAYBE_AGAIN)
  }
  await foldEverything(deriving.warehouse, signal)
}

/** `runDeriveDay`, of rows that still count when it is done. */
export async function deriveUndisturbed(
  { warehouse, facts }: Deriving,
  input: DeriveDayInput,
  { attempt = 1, settles = true }: { readonly attempt?: number; readonly settles?: boolean } = {},
): Promise<boolean> {
  let known = await factsBefore(facts, attempt)
  for (;;) {
    const isClosed = await runDeriveDay(warehouse, input, { settles })
    const now = await facts.current()
    const isOfDay = ({ chain, fromDay }: { readonly chain: string; readonly fromDay: number }): boolean =>
      chain === input.chain && fromDay <= input.day
    if (!retractedSince(known, now).some(isOfDay)) return isClosed
    await takeBackDay(warehouse, input)
    known = now
  }
}

/** `runSettleAccounts`, of rows that still count when it is done. */
export async function settleUndisturbed(
  { warehouse, facts }: Deriving,
  accounts: readonly string[],
  attempt = 1,
): Promise<void> {
  let known = await factsBefore(facts, attempt)
  for (;;) {
    await runSettleAccounts(warehouse, accounts)
    const now = await facts.current()
    const retracted = retractedSince(known, now)
    if (retracted.length === 0) return
    for (const one of retracted) await takeBackSettlements(warehouse, one, accounts)
    known = now
  }
}
