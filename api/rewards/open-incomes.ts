import type { DayNumber } from '../../schemas/eth/time.ts'
import { consensusDaysSql, dayRevenuesSql } from '../../schemas/tables/validator-days.ts'
import type { AccountScope, SeenValidator } from '../http/seen-validators.ts'
import { readTogether, SEEN_BY_INDICES, SEEN_BY_RELATION, seenByParams } from '../http/small-accounts.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import type { Horizon } from './horizon.ts'
import { byPlace, type IncomeRow, incomeSql, ON_ITS_DAYS } from './income-rows.ts'
import {
  OPEN_EPOCHS,
  type OpenIncome,
  openParams,
  summedIncomes,
  UNANCHORED_DAYS,
  UNEXPLAINED_DAYS,
} from './open-sums.ts'

const OPEN_DAYS = consensusDaysSql((index) => `${index} IN ${SEEN_BY_INDICES}`, OPEN_EPOCHS)
const OPEN_INCOME = `
  SELECT
    ${incomeSql('toUInt256(0)', 'income.cl_reward')},
    groupArrayIf((toUInt16(income.day), income.first_epoch, income.epochs), income.is_explained) AS explained
  FROM (
    SELECT
      day, validator_index, cl_reward, first_epoch, epochs,
      (day, validator_index) NOT IN (${UNEXPLAINED_DAYS}) AND day NOT IN (${UNANCHORED_DAYS}) AS is_explained
    FROM (${OPEN_DAYS})
  ) AS income
  INNER JOIN ${SEEN_BY_RELATION} AS seen ON seen.validator_index = income.validator_index
  WHERE ${ON_ITS_DAYS}
  GROUP BY seen.nth, income.validator_index`

interface OpenRow extends IncomeRow {
  readonly explained: readonly (readonly [day: DayNumber, firstEpoch: number, epochs: string])[]
}

// Of all proposers that the chain's accounts have: what makes revenues takes a tenth of a second to begin, whoever is asked about.
const OPEN_REVENUES = `
  SELECT toUInt16(day) AS day, validator_index, revenue, blocks_unread
  FROM (${dayRevenuesSql((index) => `${index} IN (SELECT validator_index FROM validators WHERE chain = {chain:String})`, OPEN_EPOCHS)})
  WHERE revenue > 0 OR blocks_unread > 0`

interface OpenRevenueRow {
  readonly day: DayNumber
  readonly validator_index: number
  readonly revenue: string
  readonly blocks_unread: number
}

type OpenRevenues = ReadonlyMap<number, readonly OpenRevenueRow[]>

const revenuesMemo = new StandingMemo<OpenRevenues>((revenues) => revenues.size)

/** What validators have on open days, from the detail; those that have nothing are left out. */
export async function openIncomes(
  scope: AccountScope,
  horizon: Horizon,
  validators: readonly SeenValidator[],
): Promise<readonly (OpenIncome & { readonly elRewardWei: bigint })[]> {
  const [consensus, revenues] = await Promise.all([
    consensusOf(scope, horizon, validators),
    openRevenues(scope, horizon),
  ])
  return consensus.map((income) => {
    const own = revenues.get(income.index) ?? []
    const counted = own.filter(({ day }) => income.explained.some((one) => one.day === day))
    const isUnread = (day: DayNumber) => own.some((one) => one.day === day && one.blocks_unread > 0)
    const explained = income.explained.map((one) => (isUnread(one.day) ? { ...one, lacksBlocks: true } : one))
    return { ...income, explained, elRewardWei: counted.reduce((sum, { revenue }) => sum + BigInt(revenue), 0n) }
  })
}

async function consensusOf(
  scope: AccountScope,
  horizon: Horizon,
  validators: readonly SeenValidator[],
): Promise<readonly OpenIncome[]> {
  const summed = await summedIncomes(scope.standing, horizon, validators)
  return summed ?? (await readIncomes(scope, horizon, validators))
}

/** The same by a statement, which reads all open epochs. */
export async function readIncomes(
  scope: AccountScope,
  horizon: Horizon,
  validators: readonly SeenValidator[],
): Promise<readonly OpenIncome[]> {
  const params = openParams(horizon, horizon.openEpochs)
  const rows = await readTogether(scope, 'open incomes', validators, async (warehouse, accounts) =>
    byPlace(accounts, await warehouse.query<OpenRow>(OPEN_INCOME, { ...params, ...seenByParams(accounts) })),
  )
  return rows.map(({ validator_index: index, cl_reward_gwei, explained, unproven }) => ({
    index,
    clRewardGwei: BigInt(cl_reward_gwei),
    explained: explained.map(([day, firstEpoch, epochs]) => ({ day, firstEpoch, epochs: Number(epochs) })),
    unproven,
  }))
}

/** What the open days' blocks paid, by proposer: read once for all accounts. */
function openRevenues({ standing }: AccountScope, horizon: Horizon): Promise<OpenRevenues> {
  return revenuesMemo.of(standing, '', async () => {
    const rows = await standing.warehouse.query<OpenRevenueRow>(OPEN_REVENUES, openParams(horizon, horizon.openEpochs))
    return Map.groupBy(rows, ({ validator_index }) => validator_index)
  })
}
