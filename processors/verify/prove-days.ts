import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import { daySpan } from '../../schemas/eth/day-span.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import { type DayLevel, dayLevelSql } from '../../schemas/tables/day-levels.ts'
import { validatorDaysSql } from '../../schemas/tables/validator-days.ts'
import { COMPILED_SUMS } from '../compiled-sums.ts'
import { chainClocks, dayParams } from '../rewards/days.ts'
import { PROVE_ALL, type Proving } from './proving.ts'

/** One validator and day, recomputed from the detail; all amounts in gwei as decimal text. */
export interface DayProof {
  readonly chain: string
  readonly day: string
  readonly validator_index: number
  /** Sum of the components. */
  readonly rewards: string
  readonly deposits: string
  readonly withdrawals: string
  readonly returned: string
  readonly moved: string
  readonly consolidated_in: string
  readonly consolidated_out: string
  readonly balance_start: string
  readonly balance_end: string
  /** Balance change that rewards and flows do not explain. */
  readonly residual: string
  readonly level: DayLevel
  /** Whether there is a stored row of daily_rewards, and it says the same, execution revenue included. */
  readonly stored_agrees: number
}

/** Whether the figure may be published: it is stored as it is made, and what its components leave unexplained is the node's rounding at most. */
export function holds({ level, stored_agrees: agrees }: DayProof): boolean {
  return level !== 'unexplained' && agrees === 1
}

/** Validators of one statement that returns a row for each: about 300 bytes in memory. */
const VALIDATORS_TOLD = 20_000
/** And of one that counts them: its sums and joins take about 1 kB of each. */
const VALIDATORS_COUNTED = 250_000
/** Highest index of a range that has no end. */
const INDEX_MAX = 2 ** 32 - 1

const inRange = (index: string): string => `${index} BETWEEN {first_validator:UInt32} AND {last_validator:UInt32}`

// Where ranges of so many validators begin. Whoever has neither a stored row nor one of the last epoch is in a range all the same: they have no gaps.
const BEGINNINGS_SQL = `
SELECT arrayFilter((_, place) -> place % {validators_max:UInt32} = 1 % {validators_max:UInt32}, indices, arrayEnumerate(indices)) AS beginnings
FROM (
  SELECT arraySort(groupUniqArray(validator_index)) AS indices FROM (
    SELECT validator_index FROM validator_epochs WHERE chain = {chain:String} AND epoch = {last_transition:UInt32}
    UNION ALL SELECT validator_index FROM daily_rewards WHERE chain = {chain:String} AND day = {day:Date}
  )
)`

// The detail is summed again and compared with the stored row and with the balances. A validator of which all transitions and
// both balances of a day are known must have a whole row.
const DAY_PROOF_SQL = `
SELECT
  {chain:String} AS chain, toString({day:Date}) AS day, validator_index, rewards, deposits, withdrawals, returned, moved,
  consolidated_in, consolidated_out, balance_start, balance_end, residual, level,
  is_whole = 1 AND stored = (
    rewards + if(level = 'rounding', residual, 0), rewards, revenue, blocks, blocks_unexplained, unexplained, deposits, withdrawals,
    returned, moved, consolidated_in, consolidated_out, balance_start, balance_end, residual, active_epochs, effective_balance_epochs
  ) AND stored_level = level AS stored_agrees
FROM (
  SELECT
    *,
    ${dayLevelSql({ index: 'validator_index', residual: 'residual', epochs: 'epochs', whole: '1' })} AS level
  FROM (
    SELECT
      j.* EXCEPT validator_index, j.validator_index AS validator_index,
      s.balance AS balance_start, b.balance AS balance_end, s.known = 1 AND b.known = 1 AS are_balances_known,
      (b.balance - s.balance) - (j.rewards + j.flows) AS residual
    FROM (
      SELECT
        if(d.epochs = 0, r.validator_index, d.validator_index) AS validator_index,
        d.epochs AS epochs, d.cl_reward AS rewards, d.deposits AS deposits, d.withdrawals AS withdrawals, d.returned AS returned,
        d.moved AS moved, d.consolidated_in AS consolidated_in, d.consolidated_out AS consolidated_out, d.flows AS flows,
        d.active_epochs AS active_epochs, d.effective_balance_epochs AS effective_balance_epochs, d.revenue AS revenue, d.blocks AS blocks, d.blocks_unexplained AS blocks_unexplained, d.unexplained AS unexplained,
        r.is_whole AS is_whole, r.stored AS stored, r.stored_level AS stored_level
      FROM (${validatorDaysSql(inRange)}) AS d
      FULL JOIN (
        SELECT
          validator_index, is_whole, level AS stored_level,
          (
            cl_reward_gwei,
            source_gwei + target_gwei + head_gwei + inactivity_gwei + sync_gwei + proposer_gwei + slashing_penalty_gwei,
            el_reward_wei, blocks, blocks_unexplained, unexplained_wei, deposits_gwei, withdrawals_gwei,
            returned_from_queue_gwei, moved_to_queue_gwei, consolidations_in_gwei, consolidations_out_gwei,
            balance_start_gwei, balance_end_gwei, residual_gwei, active_epochs, effective_balance_epochs_gwei
          ) AS stored
        FROM daily_rewards FINAL
        WHERE chain = {chain:String} AND day = {day:Date} AND is_whole = 1 AND ${inRange('validator_index')}
      ) AS r ON r.validator_index = d.validator_index
    ) AS j
    LEFT JOIN (
      SELECT validator_index, balance_gwei AS balance, 1 AS known FROM day_balances FINAL
      WHERE chain = {chain:String} AND day = {day:Date} AND ${inRange('validator_index')}
    ) AS s ON s.validator_index = j.validator_index
    LEFT JOIN (
      SELECT validator_index, balance_gwei AS balance, 1 AS known FROM day_balances FINAL
      WHERE chain = {chain:String} AND day = {day:Date} + 1 AND ${inRange('validator_index')}
    ) AS b ON b.validator_index = j.validator_index
  )
)
WHERE is_whole = 1 OR (are_balances_known AND epochs = {last_transition:UInt32} - {first_transition:UInt32} + 1)`

/** What `holds` says, as a condition on columns. */
const HOLDS = "level != 'unexplained' AND stored_agrees = 1"

const COUNTS_SQL = `
SELECT
  count() AS checked, countIf(NOT (${HOLDS})) AS wrong, countIf(level = 'rounding') AS rounding,
  countIf(level = 'unanchored') AS unanchored
FROM (${DAY_PROOF_SQL})`

/** Some validators of one closed day, proven. */
export interface ProvenDays {
  readonly chain: string
  readonly day: string
  readonly checked: number
  readonly wrong: number
  readonly rounding: number
  readonly unanchored: number
  /** One by one: all of them, or those that do not hold. */
  readonly told: readonly DayProof[]
}

/**
 * Proves every closed day of every tracked validator again from the detail, one day after the other, oldest first, some
 * validators at a time; of one chain if it is given.
 */
export async function* proveDays(
  warehouse: Warehouse,
  { chain, again }: Proving = PROVE_ALL,
  validatorsMax = VALIDATORS_TOLD,
): AsyncGenerator<readonly DayProof[]> {
  for await (const range of rangesOf(warehouse, chain, validatorsMax)) {
    let proofs = await proofsOf(warehouse, range)
    while (!proofs.every(holds) && (await again())) proofs = await proofsOf(warehouse, range)
    yield proofs
  }
}

/** As `proveDays`, counted; with `quiet` only what does not hold leaves the warehouse, which is many times quicker. */
export async function* countDays(warehouse: Warehouse, proving: Proving, quiet: boolean): AsyncGenerator<ProvenDays> {
  if (quiet) {
    for await (const range of rangesOf(warehouse, proving.chain, VALIDATORS_COUNTED)) {
      let counted = await countsOf(warehouse, range)
      while (counted.wrong > 0 && (await proving.again())) counted = await countsOf(warehouse, range)
      const told = counted.wrong === 0 ? [] : await proofsOf(warehouse, range, `NOT (${HOLDS})`)
      yield { chain: range.chain, day: range.day, ...counted, told }
    }
    return
  }
  for await (const told of proveDays(warehouse, proving)) {
    const [first] = told
    if (first === undefined) continue
    const count = (isSo: (proof: DayProof) => boolean) => told.filter(isSo).length
    yield {
      chain: first.chain,
      day: first.day,
      checked: told.length,
      wrong: count((proof) => !holds(proof)),
      rounding: count(({ level }) => level === 'rounding'),
      unanchored: count(({ level }) => level === 'unanchored'),
      told,
    }
  }
}

type Range = QueryParams & { readonly chain: string; readonly day: string }

function proofsOf(warehouse: Warehouse, range: Range, condition = '1'): Promise<readonly DayProof[]> {
  return warehouse.query<DayProof>(
    `SELECT * FROM (${DAY_PROOF_SQL}) WHERE ${condition} ORDER BY validator_index`,
    range,
  )
}

async function countsOf(warehouse: Warehouse, range: Range) {
  const isOneOfSeveral = range.first_validator !== 0 || range.last_validator !== INDEX_MAX
  const [row] = await warehouse.query<Record<'checked' | 'wrong' | 'rounding' | 'unanchored', string>>(
    isOneOfSeveral ? `${COUNTS_SQL}${COMPILED_SUMS}` : COUNTS_SQL,
    range,
  )
  if (row === undefined) throw new Error('a count has a row')
  const { checked, wrong, rounding, unanchored } = row
  return {
    checked: Number(checked),
    wrong: Number(wrong),
    rounding: Number(rounding),
    unanchored: Number(unanchored),
  }
}

/** Ranges of validators of each closed day. */
async function* rangesOf(warehouse: Warehouse, chain: string, validatorsMax: number): AsyncGenerator<Range> {
  const clocks = await chainClocks(warehouse)
  const days = await warehouse.query<{ chain: string; day: string }>(
    "SELECT chain, day FROM closed_days FINAL WHERE {chain:String} IN ('', chain) ORDER BY chain, day",
    { chain },
  )
  for (const { chain: name, day } of days) {
    const clock = clocks.get(name)
    const number = parseDay(day)
    const span = number === undefined || clock === undefined ? undefined : daySpan(clock, number)
    if (span === undefined) throw new Error(`closed day ${day} is not a day of ${name}`)
    const params = { ...dayParams(name, span), chain: name, day }
    const asked = { ...params, validators_max: validatorsMax }
    const [row] = await warehouse.query<{ beginnings: readonly number[] }>(BEGINNINGS_SQL, asked)
    const [, ...later] = row?.beginnings ?? []
    for (const [place, first] of [0, ...later].entries())
      yield { ...params, first_validator: first, last_validator: (later[place] ?? INDEX_MAX + 1) - 1 }
  }
}
