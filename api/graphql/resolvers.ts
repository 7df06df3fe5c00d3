import { checksumAddress } from '../../schemas/eth/address.ts'
import { FAR_FUTURE_EPOCH_TEXT } from '../../schemas/eth/far-future.ts'
import { formatDay } from '../../schemas/eth/time.ts'
import type { HistoryStep } from '../../schemas/routes/validators/validator-history.ts'
import { isProvenClass } from '../../schemas/tables/block-revenues.ts'
import { isProvenLevel, levelOfEpoch } from '../../schemas/tables/day-levels.ts'
import { validatorLabels } from '../http/validator-labels.ts'
import type { AccountDay } from '../rewards/account-days.ts'
import type { ProposalRow, ProvenEpochRow } from '../rewards/select-detail.ts'
import type { ShownDay } from '../rewards/shown-days.ts'
import { accountValidators } from '../validators/account-validators.ts'
import { type ExitFlags, exitFlags } from '../validators/exit-flags.ts'
import { historiesOf } from '../validators/history.ts'
import type { ListedValidator } from '../validators/list-validators.ts'
import { toStatus } from '../validators/validator-status.ts'
import * as amounts from './amounts.ts'
import { WINDOW_DAYS_MAX_GRAPHQL } from './analyst-windows.ts'
import { askedDays, type WindowArguments } from './asked-days.ts'
import type { GraphqlContext, ValidatorDay } from './context.ts'
import { completenessFields, fieldsOfAccountDay, fieldsOfDay } from './day-fields.ts'
import { type LocalDaysArguments, localWindow } from './local-day-resolvers.ts'
import { ofValidators } from './refusals.ts'
import { loadValidators, readPubkeys, type ValidatorsArguments } from './validator-list.ts'

/** Of a `histories` field. */
const HISTORIES_MAX = 100

const gwei = (text: string) => amounts.gwei(BigInt(text))
const wei = (text: string) => amounts.wei(BigInt(text))

export const resolvers = {
  Query: {
    newestEpoch: ofValidators(async (_: unknown, context) => (await context.horizon())?.epoch ?? null),
    validators: ofValidators((args: ValidatorsArguments, context) => loadValidators(args, context)),
    histories: ofValidators(({ pubkeys }: { readonly pubkeys: readonly string[] }, context) =>
      loadHistories(pubkeys, context),
    ),
    days: ofValidators((args: WindowArguments, context) =>
      context.accountDays.load(askedDays(args, context.nowMs, { daysMax: WINDOW_DAYS_MAX_GRAPHQL })),
    ),
  },
  Validator: {
    index: (row: ListedValidator) => row.validator_index,
    label: async (row: ListedValidator, _: unknown, context: GraphqlContext) =>
      (await validatorLabels(context)).get(row.pubkey) ?? null,
    withdrawalCredentials: (row: ListedValidator) => row.withdrawal_credentials,
    status: (row: ListedValidator) => toStatus(row.status),
    slashed: (row: ListedValidator) => row.slashed === 1,
    balance: (row: ListedValidator) => gwei(row.balance_gwei),
    effectiveBalance: (row: ListedValidator) => gwei(row.effective_balance_gwei),
    activationEpoch: (row: ListedValidator) => row.activation_epoch,
    exitEpoch: (row: ListedValidator) => row.exit_epoch,
    withdrawableEpoch: (row: ListedValidator) => row.withdrawable_epoch,
    isNeedExit: async (row: ListedValidator, _: unknown, context: GraphqlContext) =>
      (await exitOf(row, context)).isNeedExit,
    isPostExit: async (row: ListedValidator, _: unknown, context: GraphqlContext) =>
      (await exitOf(row, context)).isPostExit,
    history: (row: ListedValidator, _: unknown, context: GraphqlContext) => context.histories.load(row),
    days: (row: ListedValidator, args: WindowArguments, context: GraphqlContext) => {
      const { from, to } = askedDays(args, context.nowMs, { daysMax: WINDOW_DAYS_MAX_GRAPHQL })
      return context.days.load({ index: row.validator_index, from, to })
    },
    localDays: (row: ListedValidator, args: LocalDaysArguments, context: GraphqlContext) => {
      const { days, offsetSec } = localWindow(args, context)
      return context.localDays.load({ index: row.validator_index, ...days, offsetSec })
    },
  },
  ValidatorStep: {
    isExact: (row: HistoryStep) => row.is_exact,
    blockNumber: (row: HistoryStep) => row.block_number,
    transactionHash: (row: HistoryStep) => row.transaction_hash,
  },
  AccountDay: {
    ...fieldsOfAccountDay,
    validatorsUnprovenCount: ({ row }: ShownDay<AccountDay>) => row?.unproven.validators ?? 0,
  },
  ValidatorDay: {
    ...fieldsOfDay,
    epochs: ({ index, day }: ValidatorDay, _: unknown, context: GraphqlContext) =>
      context.epochs.load({ index, day: formatDay(day) }),
    blocks: ({ index, day }: ValidatorDay, _: unknown, context: GraphqlContext) =>
      context.blocksOfDay.load({ index, day: formatDay(day) }),
  },
  LocalDay: fieldsOfDay,
  ...completenessFields,
  ValidatorEpoch: {
    source: (row: ProvenEpochRow) => gwei(row.source_gwei),
    target: (row: ProvenEpochRow) => gwei(row.target_gwei),
    head: (row: ProvenEpochRow) => gwei(row.head_gwei),
    inactivity: (row: ProvenEpochRow) => gwei(row.inactivity_gwei),
    balance: (row: ProvenEpochRow) => gwei(row.balance_gwei),
    effectiveBalance: (row: ProvenEpochRow) => gwei(row.effective_balance_gwei),
    status: (row: ProvenEpochRow) => toStatus(row.status),
    slashed: (row: ProvenEpochRow) => row.slashed === 1,
    level: (row: ProvenEpochRow) => (isComputed(row) ? levelOfEpoch(row).toUpperCase() : null),
    residual: (row: ProvenEpochRow) => (isComputed(row) ? gwei(row.residual_gwei) : null),
    isProven: (row: ProvenEpochRow) => (isComputed(row) ? isProvenLevel(levelOfEpoch(row)) : null),
    blocks: (row: ProvenEpochRow, _: unknown, context: GraphqlContext) =>
      context.blocksOfEpoch.load({ index: row.validator_index, epoch: row.epoch }),
  },
  Block: {
    slot: (row: ProposalRow) => Number(row.slot),
    blockRoot: (row: ProposalRow) => row.block_root,
    blockNumber: (row: ProposalRow) => Number(row.execution_block_number),
    blockHash: (row: ProposalRow) => row.execution_block_hash,
    feeRecipient: (row: ProposalRow) => checksumAddress(row.fee_recipient),
    // What is not known is not zero.
    attestations: (row: ProposalRow) => (row.has_rewards === 1 ? gwei(row.attestations_gwei) : null),
    syncAggregate: (row: ProposalRow) => (row.has_rewards === 1 ? gwei(row.sync_aggregate_gwei) : null),
    proposerSlashings: (row: ProposalRow) => (row.has_rewards === 1 ? gwei(row.proposer_slashings_gwei) : null),
    attesterSlashings: (row: ProposalRow) => (row.has_rewards === 1 ? gwei(row.attester_slashings_gwei) : null),
    revenue: (row: ProposalRow) => (isProvenClass(row.revenue_class) ? wei(row.revenue_wei) : null),
    claimed: (row: ProposalRow) => (row.revenue_class === '' ? null : wei(row.claimed_wei)),
    revenueClass: (row: ProposalRow) => (row.revenue_class === '' ? null : row.revenue_class),
    revenueRecipient: (row: ProposalRow) => (row.revenue_class === '' ? null : checksumAddress(row.recipient)),
    isContradicted: (row: ProposalRow) => (row.revenue_class === '' ? null : row.is_contradicted === 1),
    evidence: (row: ProposalRow, _: unknown, context: GraphqlContext) =>
      row.revenue_class === '' ? null : context.evidence.load(row.execution_block_hash),
  },
}

function isComputed({ level }: ProvenEpochRow): boolean {
  return level !== '' && level !== 'reported'
}

/** Of a former validator what the chain tells, and not what its account of today asks for. */
async function exitOf(row: ListedValidator, context: GraphqlContext): Promise<ExitFlags> {
  const hasExitEpoch = row.exit_epoch !== FAR_FUTURE_EPOCH_TEXT
  if (!row.isSeenToday) return { isNeedExit: false, isPostExit: hasExitEpoch }
  return (await exitFlags(context))(row.pubkey, hasExitEpoch)
}

async function loadHistories(
  given: readonly string[],
  context: GraphqlContext,
): Promise<readonly { readonly pubkey: string; readonly steps: readonly HistoryStep[] }[]> {
  const wanted = new Set(readPubkeys(given, HISTORIES_MAX))
  const horizon = await context.horizon()
  const found = (await accountValidators(context, horizon)).filter(({ pubkey }) => wanted.has(pubkey))
  const histories = await historiesOf(context, horizon, found)
  return found.map(({ pubkey }, at) => ({ pubkey, steps: histories[at] ?? [] }))
}
