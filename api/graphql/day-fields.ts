import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import { toWei } from '../../schemas/eth/units.ts'
import type { Completeness } from '../../schemas/routes/rewards/completeness.ts'
import { isProvenLevel } from '../../schemas/tables/day-levels.ts'
import type { AccountDay } from '../rewards/account-days.ts'
import type { ShownDay } from '../rewards/shown-days.ts'
import type { ValidatorDayRow } from '../rewards/validator-days.ts'
import * as amounts from './amounts.ts'

const gwei = (text: string) => amounts.gwei(BigInt(text))
const wei = (text: string) => amounts.wei(BigInt(text))

const FIGURES = {
  source: (row: ValidatorDayRow) => gwei(row.source_gwei),
  target: (row: ValidatorDayRow) => gwei(row.target_gwei),
  head: (row: ValidatorDayRow) => gwei(row.head_gwei),
  inactivity: (row: ValidatorDayRow) => gwei(row.inactivity_gwei),
  sync: (row: ValidatorDayRow) => gwei(row.sync_gwei),
  proposer: (row: ValidatorDayRow) => gwei(row.proposer_gwei),
  slashingPenalty: (row: ValidatorDayRow) => gwei(row.slashing_penalty_gwei),
  consensusReward: (row: ValidatorDayRow) => gwei(row.cl_reward_gwei),
  executionReward: (row: ValidatorDayRow) => wei(row.el_reward_wei),
  totalReward: (row: ValidatorDayRow) => amounts.wei(BigInt(row.el_reward_wei) + toWei(BigInt(row.cl_reward_gwei))),
  deposits: (row: ValidatorDayRow) => gwei(row.deposits_gwei),
  withdrawals: (row: ValidatorDayRow) => gwei(row.withdrawals_gwei),
  returnedFromQueue: (row: ValidatorDayRow) => gwei(row.returned_from_queue_gwei),
  movedToQueue: (row: ValidatorDayRow) => gwei(row.moved_to_queue_gwei),
  consolidationsIn: (row: ValidatorDayRow) => gwei(row.consolidations_in_gwei),
  consolidationsOut: (row: ValidatorDayRow) => gwei(row.consolidations_out_gwei),
  balanceStart: (row: ValidatorDayRow) => gwei(row.balance_start_gwei),
  balanceEnd: (row: ValidatorDayRow) => gwei(row.balance_end_gwei),
  residual: (row: ValidatorDayRow) => gwei(row.residual_gwei),
  level: (row: ValidatorDayRow) => row.level.toUpperCase(),
  isProven: (row: ValidatorDayRow) => isProvenLevel(row.level),
  blocksCount: (row: ValidatorDayRow) => row.blocks,
}

const ofAnyDay = {
  date: ({ day }: { readonly day: DayNumber }) => formatDay(day),
  completeness: ({ completeness }: Pick<ShownDay<unknown>, 'completeness'>) => completeness(),
}

/** Of a validator; figures are null where nothing is known of the day. */
export const fieldsOfDay = {
  ...ofAnyDay,
  ...Object.fromEntries(
    Object.entries(FIGURES).map(([name, of]) => [
      name,
      ({ row }: ShownDay<ValidatorDayRow>) => (row === undefined ? null : of(row)),
    ]),
  ),
}

/** Sums over nobody are null, not 0. */
function sumOf<Amount>(of: (row: AccountDay) => Amount) {
  return ({ row }: ShownDay<AccountDay>) => (row === undefined || row.validators === 0 ? null : of(row))
}

/** Of an account. */
export const fieldsOfAccountDay = {
  ...ofAnyDay,
  consensusReward: sumOf((row) => amounts.gwei(row.clRewardGwei)),
  executionReward: sumOf((row) => amounts.wei(row.elRewardWei)),
  totalReward: sumOf((row) => amounts.wei(row.elRewardWei + toWei(row.clRewardGwei))),
  validatorsCount: ({ row }: ShownDay<AccountDay>) => row?.validators ?? 0,
  validatorsActiveCount: ({ row }: ShownDay<AccountDay>) => row?.earning ?? 0,
  validatorsMissingCount: ({ row }: ShownDay<AccountDay>) => row?.missing ?? null,
}

type Incomplete = Completeness['incomplete'][number]

/** Of the types `Completeness` and `IncompleteDays`, as REST has them. */
export const completenessFields = {
  Completeness: {
    state: ({ state }: Completeness) => state.toUpperCase(),
    finalThrough: (told: Completeness) => told.final_through,
    notFinalFrom: (told: Completeness) => told.not_final_from,
  },
  IncompleteDays: {
    from: (days: Incomplete) => days.start_date,
    to: (days: Incomplete) => days.end_date,
    validatorsMissingCount: (days: Incomplete) => days.validators_missing,
  },
}
