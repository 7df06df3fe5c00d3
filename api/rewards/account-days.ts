import { hash } from 'node:crypto'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import { IS_PUBLISHED } from '../../schemas/tables/day-levels.ts'
import { indicesSql } from '../../schemas/tables/literals.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'
import { AccountMemo } from '../http/account-memo.ts'
import { type AccountScope, seenValidators } from '../http/seen-validators.ts'
import {
  readTogether,
  SEEN_BY_INDICES,
  SEEN_BY_RELATION,
  type SeenDays,
  seenByParams,
  seenInStatements,
} from '../http/small-accounts.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { activationsOf } from './activations.ts'
import {
  type Cohort,
  cohortsOf,
  type ExpectedValidator,
  expectedSpans,
  expectedValidators,
} from './expected-validators.ts'
import type { ClosedDay, Horizon } from './horizon.ts'
import { type Days, spansOf } from './kept-spans.ts'
import { BY_VALIDATOR_MAX } from './validator-days.ts'

interface Sums {
  readonly elRewardWei: bigint
  readonly clRewardGwei: bigint
  /** Validators whose income of the day is above zero. */
  readonly earning: number
  /** Validators that the sums are over. */
  readonly validators: number
  /** Their blocks of which nothing proves what they paid. */
  readonly blocksUnproven: number
  /** Sum of their rows' versions: it moves with each of them. */
  readonly versions: bigint
}

export interface AccountDay extends Sums {
  /** `YYYY-MM-DD`. */
  readonly date: string
  readonly day: DayNumber
  /** Validators that were activated by the end of the day and are not in the sums. */
  readonly missing: number
  /** Of validators whose balances are not explained; how many of them were activated. */
  readonly unproven: Sums & { readonly activated: number }
  /** Whether these are in the sums, which the operator decides. */
  readonly servesUnproven?: true
}

/** Whether what is unexplained is served nonetheless: in the figures of days, of which each says how many validators that are. */
export interface UnprovenRule {
  readonly servesUnproven?: boolean | undefined
}

export type DaysScope = AccountScope & UnprovenRule & { readonly warehouse: WarehouseReader }

/** Rows of daily figures up to which days of an account are read and kept that were not asked for; of more, those of the range alone. */
const HISTORY_ROWS_MAX = 500_000
/** Spans of a range up to which these are read and kept; beyond, all days of the account are, at once. */
const SPANS_MAX = 2

/** Sums of a closed day, undefined where the account has none, with the version of the day that they were made of. */
interface KeptDay {
  readonly version: string
  readonly sums: AccountDay | undefined
}

const daysKept = new AccountMemo<Map<DayNumber, KeptDay>>()
const seenMemo = new StandingMemo<string>(() => 1)
const daysMemo = new StandingMemo<readonly AccountDay[]>((days) => days.length)
const spanMemo = new StandingMemo<readonly AccountDay[]>((days) => days.length)

/**
 * The account's closed days of `[from, to)`, ascending: each sums the validators that it sees on that day. Of one of which the account should
 * have a whole row that is explained, and has none, the sums are over nobody.
 */
export async function expectedDays(scope: DaysScope, horizon: Horizon, days: Days): Promise<readonly AccountDay[]> {
  const proven = await provenDays(scope, horizon, days)
  return scope.servesUnproven === true ? proven.map(withUnproven) : proven
}

async function provenDays(scope: DaysScope, horizon: Horizon, { from, to }: Days): Promise<readonly AccountDay[]> {
  const { registered } = await seenValidators(scope)
  const isIn = ({ day }: { readonly day: DayNumber }): boolean => from <= day && day < to
  if (registered.length * horizon.closedDays.length > HISTORY_ROWS_MAX) {
    return keptDays({ ...scope, reader: scope.warehouse }, horizon, horizon.closedDays.filter(isIn))
  }
  const read = (closed: readonly ClosedDay[]) => selectDays({ ...scope, reader: scope.shared }, horizon, closed)
  const spans = spansOf({ from, to }).toReversed()
  if (spans.length > SPANS_MAX)
    return (await daysMemo.of(scope.standing, scope.account, () => read(horizon.closedDays))).filter(isIn)
  const kept = await Promise.all(
    spans.map((span) =>
      spanMemo.of(scope.standing, JSON.stringify([scope.account, span.from]), () =>
        read(horizon.closedDays.filter(({ day }) => span.from <= day && day < span.to)),
      ),
    ),
  )
  return kept.flat().filter(isIn)
}

/** The sums of a large account's days as they were read: an epoch that comes makes none of them be read again. */
async function keptDays(scope: ReadingScope, horizon: Horizon, days: readonly ClosedDay[]): Promise<AccountDay[]> {
  const kept = daysKept.of(scope, await whoIsSeen(scope, horizon), () => new Map())
  const lacking = days.filter(({ day, version }) => kept.get(day)?.version !== version)
  const read = new Map((await selectDays(scope, horizon, lacking)).map((sums) => [sums.day, sums]))
  for (const { day, version } of lacking) kept.set(day, { version, sums: read.get(day) })
  return days.flatMap(({ day }) => read.get(day) ?? kept.get(day)?.sums ?? [])
}

/** A text that differs where other validators, or other days of them, make the account's sums. */
function whoIsSeen(scope: AccountScope, horizon: Horizon): Promise<string> {
  return seenMemo.of(scope.standing, scope.account, async () => {
    const validators = await expectedValidators(scope, horizon)
    const seen = validators.map(({ index, activation, intervals }) => [
      index,
      String(activation),
      ...intervals.flatMap(({ fromDay, toDay }) => [fromDay, toDay]),
    ])
    return hash('sha256', JSON.stringify([horizon.exchanges, seen]))
  })
}

interface SumRow {
  /** Of the accounts that are asked for together. */
  readonly nth: number
  readonly day: number
  readonly el_reward_wei: string
  readonly cl_reward_gwei: string
  readonly earning: string
  readonly validators: string
  readonly blocks_unproven: string
  readonly activated: string
  readonly versions: string
  readonly is_explained: number
}

const FIGURES = `day, validator_index, el_reward_wei, cl_reward_gwei, blocks_unexplained, version, ${IS_PUBLISHED} AS is_explained`
const OF_DAYS = `chain = {chain:String} AND day BETWEEN toDate({firstDay:UInt16}) AND toDate({lastDay:UInt16})
      AND has({days:Array(UInt16)}, toUInt16(day))`
const OF_SEEN = `validator_index IN ${SEEN_BY_INDICES}`
const figuresByDay = (isAsked: string): string =>
  `SELECT ${FIGURES} FROM daily_rewards FINAL WHERE ${OF_DAYS} AND ${isAsked} AND is_whole = 1`
// As days of one validator are read: in the table's own order every day would be opened for a few (validator-days.ts).
const FIGURES_BY_VALIDATOR = `
    SELECT ${FIGURES} FROM (
      SELECT day, validator_index, el_reward_wei, cl_reward_gwei, blocks_unexplained, version, level, is_whole FROM daily_rewards
      WHERE ${OF_DAYS} AND ${OF_SEEN}
      ORDER BY version DESC LIMIT 1 BY day, validator_index
    )
    WHERE is_whole = 1`

const SUMS = `
    rewards.is_explained AS is_explained,
    toUInt16(rewards.day) AS day,
    sum(rewards.el_reward_wei) AS el_reward_wei,
    sum(rewards.cl_reward_gwei) AS cl_reward_gwei,
    countIf(toInt256(rewards.el_reward_wei) + toInt256(rewards.cl_reward_gwei) * 1000000000 > 0) AS earning,
    count() AS validators,
    sum(rewards.blocks_unexplained) AS blocks_unproven,
    sum(rewards.version) AS versions`

/** Of validators that one account sees on all of the days, and that were activated before the first of them ended. */
const sumsOfAll = (indices: readonly number[]): string => `
  SELECT 0 AS nth, ${SUMS}, count() AS activated
  FROM
  (
    ${figuresByDay(indicesSql('validator_index', indices))}
  ) AS rewards
  GROUP BY rewards.day, rewards.is_explained`

const sumsSql = (figures: string): string => `
  SELECT
    seen.nth AS nth, ${SUMS},
    countIf(
      seen.active <= transform(toUInt16(rewards.day), {days:Array(UInt16)}, {lastEpochs:Array(UInt64)}, toUInt64(0))
    ) AS activated
  FROM
  (
    ${figures}
  ) AS rewards
  INNER JOIN ${SEEN_BY_RELATION} AS seen ON seen.validator_index = rewards.validator_index
  WHERE seen.from_day <= toUInt16(rewards.day) AND toUInt16(rewards.day) < seen.to_day
  GROUP BY seen.nth, rewards.day, rewards.is_explained`

const SUMS_BY_DAY = sumsSql(figuresByDay(OF_SEEN))
const SUMS_BY_VALIDATOR = sumsSql(FIGURES_BY_VALIDATOR)

type ReadingScope = AccountScope & { readonly reader: AccountScope['shared'] }

async function selectDays(scope: ReadingScope, horizon: Horizon, days: readonly ClosedDay[]): Promise<AccountDay[]> {
  const { registered } = await seenValidators(scope)
  const [firstDay, lastDay] = [days[0]?.day, days.at(-1)?.day]
  const cohorts = await cohortsOf(scope, horizon)
  if (firstDay === undefined || lastDay === undefined || cohorts.length === 0) return []
  const activations = await activationsOf(scope, horizon)
  const lastEpochs = days.map(({ lastEpoch }) => lastEpoch)
  const window = {
    chain: scope.standing.chain,
    firstDay,
    lastDay,
    days: days.map(({ day }) => day),
    lastEpochs,
  }
  const sums = new Map<DayNumber, AccountDay>()
  const addRows = (rows: readonly SumRow[]): void => {
    for (const row of rows) sums.set(row.day, addRow(sums.get(row.day) ?? noneOf(row.day), row))
  }
  const isLarge = registered.length > BY_VALIDATOR_MAX
  const isOfAllDays = ({ activation, intervals }: Cohort): boolean =>
    activation <= (lastEpochs[0] ?? 0) && intervals.some(({ fromDay, toDay }) => fromDay <= firstDay && lastDay < toDay)
  const membersOf = (some: readonly Cohort[]) => some.flatMap(({ members }) => members.filter(isRegistered))
  // To join rows with the days on which they count takes the engine several times as long as to read them.
  const ofAllDays = isLarge ? membersOf(cohorts.filter(isOfAllDays)) : []
  for (const some of inStatements(ofAllDays.toSorted(byIndex)))
    addRows(await scope.reader.query<SumRow>(sumsOfAll(some.map(({ index }) => index)), window))
  const sql = isLarge ? SUMS_BY_DAY : SUMS_BY_VALIDATOR
  const reading = { ...scope, shared: scope.reader }
  const others = isLarge ? membersOf(cohorts.filter((cohort) => !isOfAllDays(cohort))) : registered
  for (const some of seenInStatements<SeenDays>(others)) {
    const rows = await readTogether(reading, `days ${window.days}`, { some, activations }, async (warehouse, items) => {
      const accounts = items.map((item) => item.some)
      const activationOf = (index: number, nth: number) => items[nth]?.activations.get(index) ?? FAR_FUTURE_EPOCH
      const found = await warehouse.query<SumRow>(sql, { ...window, ...seenByParams(accounts, activationOf) })
      return items.map((_, nth) => found.filter((row) => row.nth === nth))
    })
    addRows(rows)
  }
  const expected = expectedOf(cohorts, days)
  return days.flatMap(({ day }, at) => {
    const [sum, wanted] = [sums.get(day), expected[at] ?? 0]
    if (sum === undefined && wanted === 0) return []
    const { missing, ...known } = sum ?? noneOf(day)
    return [{ ...known, missing: missing + wanted }]
  })
}

type Registered = ExpectedValidator & { readonly index: number }

const isRegistered = (validator: ExpectedValidator): validator is Registered => validator.index !== undefined
const byIndex = (one: Registered, other: Registered): number => one.index - other.index

const NO_SUMS: Sums = { elRewardWei: 0n, clRewardGwei: 0n, earning: 0, validators: 0, blocksUnproven: 0, versions: 0n }

function noneOf(day: DayNumber): AccountDay {
  return { ...NO_SUMS, date: formatDay(day), day, missing: 0, unproven: { ...NO_SUMS, activated: 0 } }
}

function addSums(one: Sums, other: Sums): Sums {
  return {
    elRewardWei: one.elRewardWei + other.elRewardWei,
    clRewardGwei: one.clRewardGwei + other.clRewardGwei,
    earning: one.earning + other.earning,
    validators: one.validators + other.validators,
    blocksUnproven: one.blocksUnproven + other.blocksUnproven,
    versions: one.versions + other.versions,
  }
}

/** Validators that are in the sums are not missing: those that were expected are added when all of them are counted. */
function addRow(before: AccountDay, row: SumRow): AccountDay {
  const activated = Number(row.activated)
  const sums: Sums = {
    elRewardWei: BigInt(row.el_reward_wei),
    clRewardGwei: BigInt(row.cl_reward_gwei),
    earning: Number(row.earning),
    validators: Number(row.validators),
    blocksUnproven: Number(row.blocks_unproven),
    versions: BigInt(row.versions),
  }
  if (row.is_explained === 1) return { ...before, ...addSums(before, sums), missing: before.missing - activated }
  const { unproven } = before
  return { ...before, unproven: { ...addSums(unproven, sums), activated: unproven.activated + activated } }
}

function withUnproven(day: AccountDay): AccountDay {
  return { ...day, ...addSums(day, day.unproven), missing: day.missing - day.unproven.activated, servesUnproven: true }
}

/** How many of the validators are expected on each of the days. */
function expectedOf(cohorts: readonly Cohort[], days: readonly ClosedDay[]): readonly number[] {
  const changes = new Array<number>(days.length + 1).fill(0)
  const change = (at: number, by: number): void => {
    changes[at] = (changes[at] ?? 0) + by
  }
  for (const cohort of cohorts) {
    for (const [from, to] of expectedSpans(cohort, days)) {
      change(from, cohort.members.length)
      change(to, -cohort.members.length)
    }
  }
  let count = 0
  return days.map((_, at) => {
    count += changes[at] ?? 0
    return count
  })
}
