import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import { validatorDaysSql } from '../../schemas/tables/validator-days.ts'
import { ACCOUNT_VALIDATORS, SEEN_DAYS } from '../http/select-accounts.ts'
import { dayOfHorizon, type Horizon } from './horizon.ts'

export interface AccountDayRow {
  readonly day: string
  readonly el_reward_wei: string
  readonly cl_reward_gwei: string
  /** Validators whose income of the day is above zero. */
  readonly earning: string
  /** Validators that the sums are over. */
  readonly validators: string
  /** Validators that were activated by the end of the day and of which the whole day is not known: not in the sums. */
  readonly missing: string
}

export interface AccountDaysQuery {
  readonly account: string
  readonly horizon: Horizon
  readonly from: DayNumber
  readonly to: DayNumber
}

/**
 * The account's closed days of `[from, to)`, ascending: each sums the validators that it sees on that day. Days without a whole
 * row of any are left out.
 */
export function selectAccountDays(warehouse: WarehouseReader, query: AccountDaysQuery): Promise<AccountDayRow[]> {
  const { account, horizon, from, to } = query
  return warehouse.query<AccountDayRow>(
    `WITH
       mine AS (${ACCOUNT_VALIDATORS}),
       activations AS
       (
         SELECT validator_index, activation_epoch FROM validator_epochs FINAL
         WHERE chain = {chain:String} AND epoch = {epoch:UInt32} AND validator_index IN (SELECT validator_index FROM mine)
       ),
       days AS
       (
         SELECT day, intDiv(last_slot, {slotsPerEpoch:UInt32}) AS last_epoch
         FROM closed_days FINAL
         WHERE chain = {chain:String} AND day >= {from:Date} AND day < {to:Date}
       ),
       expected AS
       (
         SELECT days.day AS day, countIf(validators.activation_epoch <= days.last_epoch) AS validators
         FROM days CROSS JOIN
         (
           SELECT mine.from_day AS from_day, mine.to_day AS to_day, activations.activation_epoch AS activation_epoch
           FROM mine INNER JOIN activations ON activations.validator_index = mine.validator_index
         ) AS validators
         WHERE validators.from_day <= days.day AND days.day < validators.to_day
         GROUP BY days.day
       ),
       sums AS
       (
         SELECT
           rewards.day AS day,
           sum(rewards.el_reward_wei) AS el_reward_wei,
           sum(rewards.cl_reward_gwei) AS cl_reward_gwei,
           countIf(toInt256(rewards.el_reward_wei) + toInt256(rewards.cl_reward_gwei) * 1000000000 > 0) AS earning,
           count() AS validators,
           countIf(activations.known = 1 AND activations.activation_epoch <= days.last_epoch) AS activated
         FROM
         (
           SELECT * FROM daily_rewards FINAL
           WHERE chain = {chain:String} AND day >= {from:Date} AND day < {to:Date} AND is_whole = 1
             AND validator_index IN (SELECT validator_index FROM mine)
         ) AS rewards
         INNER JOIN mine ON mine.validator_index = rewards.validator_index
         INNER JOIN days ON days.day = rewards.day
         LEFT JOIN (SELECT *, 1 AS known FROM activations) AS activations
           ON activations.validator_index = rewards.validator_index
         WHERE mine.from_day <= rewards.day AND rewards.day < mine.to_day
         GROUP BY rewards.day
       )
     SELECT
       sums.day AS day, sums.el_reward_wei AS el_reward_wei, sums.cl_reward_gwei AS cl_reward_gwei,
       sums.earning AS earning, sums.validators AS validators, expected.validators - sums.activated AS missing
     FROM sums LEFT JOIN expected ON expected.day = sums.day
     ORDER BY day`,
    {
      chain: horizon.chain,
      account,
      epoch: horizon.epoch,
      slotsPerEpoch: horizon.clock.slotsPerEpoch,
      from: formatDay(from),
      to: formatDay(to),
    },
  )
}

export interface ValidatorTotalRow {
  readonly validator_index: number
  readonly pubkey: string
  readonly el_reward_wei: string
  readonly cl_reward_gwei: string
  readonly balance_gwei: string
  readonly effective_balance_gwei: string
  readonly status: number
}

export interface AccountTotalsRow {
  /** Validators that the account has on the horizon's day, in the registry or not. */
  readonly tracked: string
  /** Validators that it has or had, with a state at the horizon: the items of all pages. */
  readonly present: string
  /** Of those that it has on the horizon's day. */
  readonly active: string
  readonly el_reward_wei: string
  readonly cl_reward_gwei: string
  /** Of those that it has on the horizon's day. */
  readonly balance_gwei: string
  readonly page: readonly ValidatorTotalRow[]
}

// Rows of epochs between the open ones that are not complete must not count: their detail may be there in part.
const OPEN_DAYS = validatorDaysSql('SELECT validator_index FROM mine', 'SELECT arrayJoin({openEpochs:Array(UInt32)})')

// Closed days come from their rows (whole or not), open days from the detail, never both: the list of open days decides.
// A validator's income counts on the days on which the account sees it. The page is cut inside the statement, so that the sums
// over all validators and their page come from one pass.
const ACCOUNT_TOTALS = `
  WITH
    mine AS (${ACCOUNT_VALIDATORS}),
    income AS
    (
      SELECT validator_index, sum(cl) AS cl_reward_gwei, sum(el) AS el_reward_wei
      FROM
      (
        SELECT rewards.validator_index AS validator_index, sum(rewards.cl_reward_gwei) AS cl, sum(rewards.el_reward_wei) AS el
        FROM
        (
          SELECT day, validator_index, cl_reward_gwei, el_reward_wei FROM daily_rewards FINAL
          WHERE chain = {chain:String}
            AND day IN (SELECT day FROM closed_days WHERE chain = {chain:String})
            AND NOT has({days:Array(Date)}, day)
            AND validator_index IN (SELECT validator_index FROM mine)
        ) AS rewards
        INNER JOIN mine ON mine.validator_index = rewards.validator_index
        WHERE mine.from_day <= rewards.day AND rewards.day < mine.to_day
        GROUP BY rewards.validator_index
        UNION ALL
        SELECT open_days.validator_index AS validator_index, sum(open_days.cl_reward) AS cl, sum(open_days.revenue) AS el
        FROM (${OPEN_DAYS}) AS open_days
        INNER JOIN mine ON mine.validator_index = open_days.validator_index
        WHERE mine.from_day <= open_days.day AND open_days.day < mine.to_day
        GROUP BY open_days.validator_index
      )
      GROUP BY validator_index
    ),
    names AS
    (
      SELECT validator_index, any(pubkey) AS pubkey, max({today:Date} < to_day) AS is_present
      FROM mine WHERE from_day <= {today:Date} GROUP BY validator_index
    ),
    items AS
    (
      SELECT
        names.validator_index AS validator_index,
        names.pubkey AS pubkey,
        names.is_present AS is_present,
        income.el_reward_wei AS el_reward_wei,
        income.cl_reward_gwei AS cl_reward_gwei,
        state.balance_gwei AS balance_gwei,
        state.effective_balance_gwei AS effective_balance_gwei,
        state.status AS status
      FROM names
      INNER JOIN
      (
        SELECT validator_index, balance_gwei, effective_balance_gwei, status
        FROM validator_epochs FINAL
        WHERE chain = {chain:String} AND epoch = {epoch:UInt32} AND validator_index IN (SELECT validator_index FROM mine)
      ) AS state ON state.validator_index = names.validator_index
      LEFT JOIN income ON income.validator_index = names.validator_index
      ORDER BY validator_index
    )
  SELECT
    (SELECT count() FROM (${SEEN_DAYS}) WHERE from_day <= {today:Date} AND {today:Date} < to_day) AS tracked,
    count() AS present,
    countIf(items.is_present = 1 AND status IN {activeStatuses:Array(UInt8)}) AS active,
    sum(items.el_reward_wei) AS el_reward_wei,
    sum(items.cl_reward_gwei) AS cl_reward_gwei,
    sumIf(items.balance_gwei, items.is_present = 1) AS balance_gwei,
    arraySlice(
      arraySort(item -> item.1, groupArray(CAST(
        (validator_index, pubkey, items.el_reward_wei, items.cl_reward_gwei, items.balance_gwei,
         items.effective_balance_gwei, status),
        'Tuple(validator_index UInt32, pubkey String, el_reward_wei UInt256, cl_reward_gwei Int64,
               balance_gwei Int64, effective_balance_gwei Int64, status UInt8)'))),
      {offset:UInt64} + 1, {limit:UInt64}) AS page
  FROM items`

const ACTIVE_STATUSES = VALIDATOR_STATUSES.flatMap((status, code) => (status.startsWith('active_') ? [code] : []))

/** Cumulative income up to the horizon and the state at it: sums over the account and one page of its validators. */
export async function selectAccountTotals(
  warehouse: WarehouseReader,
  query: {
    readonly account: string
    readonly horizon: Horizon
    readonly offset: number
    readonly limit: number
  },
): Promise<AccountTotalsRow | undefined> {
  const { account, horizon, offset, limit } = query
  const [row] = await warehouse.query<AccountTotalsRow>(ACCOUNT_TOTALS, {
    chain: horizon.chain,
    account,
    epoch: horizon.epoch,
    today: dayOfHorizon(horizon),
    days: horizon.openDays,
    openEpochs: horizon.openEpochs,
    first_transition: horizon.openEpochs[0] ?? 0,
    last_transition: horizon.openEpochs.at(-1) ?? 0,
    first_slot: horizon.openSlots.first,
    last_slot: horizon.openSlots.last,
    activeStatuses: ACTIVE_STATUSES,
    offset,
    limit,
  })
  return row
}

/** Validators that the account has on a day, in the registry or not. */
export async function countTracked(
  warehouse: WarehouseReader,
  of: { readonly account: string; readonly chain: string; readonly day: DayNumber },
): Promise<number> {
  const [row] = await warehouse.query<{ tracked: string }>(
    `SELECT count() AS tracked FROM (${SEEN_DAYS}) WHERE from_day <= {today:Date} AND {today:Date} < to_day`,
    { account: of.account, chain: of.chain, today: formatDay(of.day) },
  )
  return Number(row?.tracked ?? 0)
}
