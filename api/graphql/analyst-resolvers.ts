import { checksumAddress } from '../../schemas/eth/address.ts'
import {
  type DayNumber,
  dayOfInstant,
  firstSlotOfDay,
  formatDay,
  formatInstant,
  parseDay,
  slotTimeSec,
} from '../../schemas/eth/time.ts'
import { toWei } from '../../schemas/eth/units.ts'
import { LIMIT_MAX } from '../../schemas/routes/fields.ts'
import { REVENUE_CLASSES } from '../../schemas/tables/block-revenues.ts'
import { pageOf } from '../http/cursor.ts'
import { seenValidators } from '../http/seen-validators.ts'
import { validatorLabels } from '../http/validator-labels.ts'
import type { AccountDay } from '../rewards/account-days.ts'
import { type AccountTotals, accountTotals, type ValidatorTotals } from '../rewards/account-totals.ts'
import { formatApr, formatRatio } from '../rewards/apr.ts'
import type { EpochDuties } from '../rewards/attestation-duties.ts'
import { completenessOfTotals } from '../rewards/completeness.ts'
import type { Days } from '../rewards/kept-spans.ts'
import { addSums, NO_SUMS, type Period, type PeriodSums, sumsOfDay } from '../rewards/period-sums.ts'
import { type ChainEpochRow, type NetworkDayRow, selectEpochs, selectNetworkDays } from '../rewards/select-chain.ts'
import type { ProposalRow, ProvenEpochRow } from '../rewards/select-detail.ts'
import { type SettlementRecord, settlementsOf } from '../rewards/select-settlements.ts'
import { completenessOfSettled } from '../rewards/settled-completeness.ts'
import type { ShownDay } from '../rewards/shown-days.ts'
import type { ListedValidator } from '../validators/list-validators.ts'
import { gwei, wei } from './amounts.ts'
import { daysOfMonth, FIRST_DEFAULT, monthWindow, WINDOW_DAYS_MAX_GRAPHQL } from './analyst-windows.ts'
import { askedDays, type WindowArguments } from './asked-days.ts'
import type { GraphqlContext, ValidatorDay } from './context.ts'
import { accountBlocks, type ProposalsFound } from './load-proposals.ts'
import { ofValidators, refusalError } from './refusals.ts'

interface PageArguments {
  readonly first?: number | null | undefined
  readonly after?: string | null
}

interface LabelGroup {
  readonly label: string | null
  readonly indices: readonly number[]
}

type Context = GraphqlContext

const LISTED = { daysMax: WINDOW_DAYS_MAX_GRAPHQL }
const ANY_LENGTH = { daysMax: 'any' } as const

export const analystResolvers = {
  Query: {
    account: ofValidators((_: unknown, context) => ({ name: context.account })),
    labels: ofValidators((_: unknown, context) => loadLabels(context)),
    months: ofValidators((args: WindowArguments, context) => context.analysts.months.load(monthsOf(args, context))),
    epochs: ofValidators((args: PageArguments, context) => loadEpochs(args, context)),
    blocks: ofValidators((args: BlocksArguments, context) => loadBlocks(args, context)),
    settlements: ofValidators((args: SettlementsArguments, context) => loadSettlements(args, context)),
    network: ofValidators((args: WindowArguments, context) => loadNetwork(args, context)),
    networkPerformance: ofValidators((args: WindowArguments, context) =>
      context.analysts.networkOf.load(askedDays(args, context.nowMs, ANY_LENGTH)),
    ),
  },
  Account: {
    totals: (_: unknown, __: unknown, context: Context) => totalsOf(context),
    performance: (_: unknown, args: WindowArguments, context: Context) =>
      context.analysts.ofAccount.load(askedDays(args, context.nowMs, ANY_LENGTH)),
  },
  AccountTotals: {
    ...rewardFields<AccountTotals>((totals) => totals),
    validatorsCount: ({ deposited }: AccountTotals) => deposited,
    validatorsActiveCount: ({ active }: AccountTotals) => active,
    balance: ({ balanceGwei }: AccountTotals) => gwei(balanceGwei),
    completeness: async ({ missing }: AccountTotals, _: unknown, context: Context) =>
      completenessOfTotals(await context.horizon(), missing),
  },
  LabelGroup: {
    validatorsCount: ({ indices }: LabelGroup) => indices.length,
    performance: async ({ indices }: LabelGroup, args: WindowArguments, context: Context) => {
      const days = askedDays(args, context.nowMs, ANY_LENGTH)
      const sums = await Promise.all(indices.map((index) => context.analysts.ofValidator.load({ index, ...days })))
      return sums.reduce(addSums, NO_SUMS)
    },
  },
  Validator: {
    totals: async ({ validator_index }: ListedValidator, _: unknown, context: Context) =>
      byIndex(await totalsOf(context)).get(validator_index),
    performance: ({ validator_index: index }: ListedValidator, args: WindowArguments, context: Context) =>
      context.analysts.ofValidator.load({ index, ...askedDays(args, context.nowMs, ANY_LENGTH) }),
    months: ({ validator_index: index }: ListedValidator, args: WindowArguments, context: Context) =>
      context.analysts.validatorMonths.load({ index, ...monthsOf(args, context) }),
    proposals: ({ validator_index: index }: ListedValidator, args: WindowArguments, context: Context) =>
      context.analysts.proposals.load({ index, ...askedDays(args, context.nowMs, LISTED) }),
  },
  ValidatorTotals: rewardFields<ValidatorTotals>((totals) => totals),
  Proposals: {
    proposedCount: ({ blocks }: ProposalsFound) => blocks.length,
    orphanedSlots: ({ orphans }: ProposalsFound) => orphans.map(({ slot }) => Number(slot)),
    missedSlots: ({ missed }: ProposalsFound) => missed.map(({ slot }) => Number(slot)),
    missedCount: ({ missed, isWhole }: ProposalsFound) => (isWhole ? missed.length : null),
    missedReason: ({ isWhole }: ProposalsFound) => (isWhole ? null : 'PROPOSERS_OF_EMPTY_SLOTS_NOT_RECORDED'),
  },
  AccountDay: {
    performance: ({ day }: ShownDay<AccountDay>, _: unknown, context: Context) => context.analysts.ofDay.load(day),
  },
  AccountMonth: {
    month: ({ start }: Period) => formatDay(start).slice(0, 7),
    validatorsCount: ({ validators }: Period) => validators,
    completeness: ({ start }: Period, _: unknown, context: Context) =>
      context.analysts.completeness.load(daysOfMonth(start)),
    performance: ({ sums }: Period) => sums,
  },
  ValidatorMonth: {
    month: ({ start }: Period) => formatDay(start).slice(0, 7),
    roundedDaysCount: ({ sums }: Period) => Number(sums.days_rounded),
    performance: ({ sums }: Period) => sums,
  },
  Performance: {
    validatorDaysCount: ({ days }: PeriodSums) => Number(days),
    ...rewardFields<PeriodSums>(incomeOf),
    components: (sums: PeriodSums) => sums,
    blocksCount: ({ blocks }: PeriodSums) => Number(blocks),
    averageEffectiveBalance: ({ active_epochs: epochs, effective_balance_epochs_gwei: sum }: PeriodSums) =>
      epochs === 0n ? null : gwei(sum / epochs),
    apr: (sums: PeriodSums, _: unknown, context: Context) =>
      aprOf(sums, sums.el_reward_wei + toWei(sums.cl_reward_gwei), context),
    consensusApr: (sums: PeriodSums, _: unknown, context: Context) => aprOf(sums, toWei(sums.cl_reward_gwei), context),
    executionApr: (sums: PeriodSums, _: unknown, context: Context) => aprOf(sums, sums.el_reward_wei, context),
    aprReason: ({ days, active_epochs: epochs }: PeriodSums) =>
      days === 0n ? 'NO_DAYS' : epochs === 0n ? 'NOT_ACTIVE' : null,
  },
  Components: {
    source: (sums: PeriodSums) => gwei(sums.source_gwei),
    target: (sums: PeriodSums) => gwei(sums.target_gwei),
    head: (sums: PeriodSums) => gwei(sums.head_gwei),
    inactivity: (sums: PeriodSums) => gwei(sums.inactivity_gwei),
    sync: (sums: PeriodSums) => gwei(sums.sync_gwei),
    proposer: (sums: PeriodSums) => gwei(sums.proposer_gwei),
    slashingPenalty: (sums: PeriodSums) => gwei(sums.slashing_penalty_gwei),
    deposits: (sums: PeriodSums) => gwei(sums.deposits_gwei),
    withdrawals: (sums: PeriodSums) => gwei(sums.withdrawals_gwei),
    returnedFromQueue: (sums: PeriodSums) => gwei(sums.returned_from_queue_gwei),
    movedToQueue: (sums: PeriodSums) => gwei(sums.moved_to_queue_gwei),
    consolidationsIn: (sums: PeriodSums) => gwei(sums.consolidations_in_gwei),
    consolidationsOut: (sums: PeriodSums) => gwei(sums.consolidations_out_gwei),
    residual: (sums: PeriodSums) => gwei(sums.residual_gwei),
  },
  ValidatorDay: {
    performance: ({ row }: ValidatorDay) => (row === undefined ? NO_SUMS : sumsOfDay(row)),
    attestations: ({ index, day }: ValidatorDay, _: unknown, context: Context) =>
      context.analysts.duties.load({ index, day: formatDay(day) }),
  },
  ValidatorEpoch: {
    attestations: async ({ validator_index: index, day, epoch }: ProvenEpochRow, _: unknown, context: Context) =>
      (await context.analysts.duties.load({ index, day })).filter((one) => one.epoch === epoch),
  },
  AttestationDuties: {
    actual: (duties: readonly EpochDuties[]) => gwei(actualOf(duties)),
    ideal: (duties: readonly EpochDuties[]) => {
      const ideal = idealOf(duties)
      return typeof ideal === 'bigint' ? gwei(ideal) : null
    },
    missed: (duties: readonly EpochDuties[]) => {
      const ideal = idealOf(duties)
      return typeof ideal === 'bigint' ? gwei(ideal - actualOf(duties)) : null
    },
    effectiveness: (duties: readonly EpochDuties[]) => {
      const ideal = idealOf(duties)
      return typeof ideal === 'bigint' && ideal > 0n ? formatRatio(actualOf(duties), ideal, 6) : null
    },
    reason: (duties: readonly EpochDuties[]) => {
      const ideal = idealOf(duties)
      return typeof ideal === 'bigint' ? null : ideal
    },
  },
  Epoch: {
    firstSlot: (row: ChainEpochRow) => Number(row.first_slot),
    lastSlot: (row: ChainEpochRow) => Number(row.last_slot),
    startTime: async (row: ChainEpochRow, _: unknown, context: Context) => {
      const horizon = await context.horizon()
      return horizon === undefined ? null : formatInstant(slotTimeSec(horizon.clock, Number(row.first_slot)))
    },
    blocksCount: (row: ChainEpochRow) => row.blocks,
    emptySlotsCount: (row: ChainEpochRow) => Number(row.last_slot) - Number(row.first_slot) + 1 - row.blocks,
    level: (row: ChainEpochRow) => row.level || null,
    stateRoot: (row: ChainEpochRow) => row.state_root || null,
    differences: ({ epoch, is_compared }: ChainEpochRow, _: unknown, context: Context) =>
      is_compared === 1 ? context.analysts.differences.load(epoch) : null,
  },
  ProposedBlock: {
    validatorIndex: (row: ProposalRow) => row.proposer_index,
    date: (row: ProposalRow) => row.day,
    block: (row: ProposalRow) => row,
  },
  Settlement: {
    kind: ({ kind }: SettlementRecord) => kind.toUpperCase(),
    validatorIndex: (row: SettlementRecord) => row.validator_index,
    feeAddress: (row: SettlementRecord) => checksumAddress(row.fee_address),
    revenue: (row: SettlementRecord) => wei(BigInt(row.revenue_wei)),
    feeRate: (row: SettlementRecord) => row.fee_rate,
    userReward: (row: SettlementRecord) => wei(BigInt(row.user_reward_wei)),
    serviceFee: (row: SettlementRecord) => wei(BigInt(row.service_fee_wei)),
    time: (row: SettlementRecord) => formatInstant(row.time_sec),
    blockNumber: (row: SettlementRecord) =>
      row.kind === 'block' || row.is_of_block === 1 ? Number(row.block_number) : null,
    reason: (row: SettlementRecord) => row.reason || null,
  },
}

interface Rewards {
  readonly clRewardGwei: bigint
  readonly elRewardWei: bigint
}

function rewardFields<Parent>(rewardsOf: (parent: Parent) => Rewards) {
  return {
    consensusReward: (parent: Parent) => gwei(rewardsOf(parent).clRewardGwei),
    executionReward: (parent: Parent) => wei(rewardsOf(parent).elRewardWei),
    totalReward: (parent: Parent) => {
      const { clRewardGwei, elRewardWei } = rewardsOf(parent)
      return wei(elRewardWei + toWei(clRewardGwei))
    },
  }
}

function incomeOf({ cl_reward_gwei: clRewardGwei, el_reward_wei: elRewardWei }: PeriodSums): Rewards {
  return { clRewardGwei, elRewardWei }
}

async function aprOf(sums: PeriodSums, rewardWei: bigint, context: Context): Promise<string | null> {
  const horizon = await context.horizon()
  if (horizon === undefined) return null
  return formatApr(rewardWei, sums.effective_balance_epochs_gwei, horizon.clock) ?? null
}

function actualOf(duties: readonly EpochDuties[]): bigint {
  return duties.reduce((sum, { actualGwei }) => sum + actualGwei, 0n)
}

/** Of the epochs with a duty; a word where one of them lacks it, or none is there. */
function idealOf(duties: readonly EpochDuties[]): bigint | string {
  const due = duties.filter(({ ideal }) => ideal !== 'NO_DUTY')
  if (due.length === 0) return 'NO_DUTY'
  let sum = 0n
  for (const { ideal } of due) {
    if (typeof ideal !== 'bigint') return ideal
    sum += ideal
  }
  return sum
}

async function totalsOf(context: Context): Promise<AccountTotals> {
  const horizon = await context.horizon()
  if (horizon === undefined) throw refusalError('404', 'no epoch of the chain is complete yet')
  return await accountTotals(context, horizon)
}

const indexed = new WeakMap<AccountTotals, ReadonlyMap<number, ValidatorTotals>>()

function byIndex(totals: AccountTotals): ReadonlyMap<number, ValidatorTotals> {
  const known = indexed.get(totals) ?? new Map(totals.items.map((item) => [item.state.validator_index, item]))
  indexed.set(totals, known)
  return known
}

async function loadLabels(context: Context): Promise<readonly LabelGroup[]> {
  const { registered } = await seenValidators(context)
  const labels = await validatorLabels(context)
  const groups = Map.groupBy(registered, ({ pubkey }) => labels.get(pubkey) ?? null)
  return [...groups]
    .map(([label, validators]) => ({ label, indices: validators.map(({ index }) => index) }))
    .toSorted((one, other) => (one.label === null ? 1 : other.label === null ? -1 : one.label < other.label ? -1 : 1))
}

function monthsOf(args: WindowArguments, { nowMs }: Context): Days {
  const window = monthWindow(args, dayOfInstant(nowMs / 1_000))
  if (window.status === 'refused') throw refusalError(window.code, window.detail)
  return { from: window.from, to: window.to }
}

function firstOf({ first }: PageArguments): number {
  const count = first ?? FIRST_DEFAULT
  if (count < 1 || count > LIMIT_MAX)
    throw refusalError('400', `first is not between 1 and ${LIMIT_MAX}: ask for the next page with after`)
  return count
}

interface Listing<Item> {
  readonly name: string
  readonly args: PageArguments
  readonly keyOf: (item: Item) => readonly string[]
  readonly isBehind: (item: Item, key: readonly string[]) => boolean
}

/** A page as REST makes it: a cursor names the last item, and is of one account's question. */
function toConnection<Item>(items: readonly Item[], context: Context, { name, args, keyOf, isBehind }: Listing<Item>) {
  const { after, first, ...filter } = args
  const page = pageOf(items, {
    of: ['graphql', name, context.standing.chain, context.account, JSON.stringify(filter)],
    query: { page: 1, limit: firstOf({ first }), cursor: after ?? undefined },
    keyOf,
    isBehind,
  })
  if (page.status === 'refused') throw refusalError(page.code, 'after is no cursor of this list with these arguments')
  return {
    totalCount: items.length,
    nodes: page.items,
    pageInfo: { hasNextPage: page.next_cursor !== null, endCursor: page.next_cursor },
  }
}

const EPOCH_CURSOR = /^[0-9]{1,10}$/

async function loadEpochs(args: PageArguments, context: Context) {
  const limit = firstOf(args)
  const after = args.after ?? undefined
  if (after !== undefined && !EPOCH_CURSOR.test(after)) throw refusalError('400', 'after is not a cursor of this list')
  const horizon = await context.horizon()
  if (horizon === undefined) return { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } }
  const before = after === undefined ? horizon.epoch + 1 : Number(after)
  const rows = await selectEpochs(context.warehouse, { chain: horizon.chain, before, limit: limit + 1 })
  const nodes = rows.slice(0, limit)
  return { nodes, pageInfo: { hasNextPage: rows.length > limit, endCursor: nodes.at(-1)?.epoch.toString() ?? null } }
}

interface BlocksArguments extends WindowArguments, PageArguments {
  readonly revenueClasses?: readonly string[] | null
}

async function loadBlocks(args: BlocksArguments, context: Context) {
  const classes = args.revenueClasses ?? undefined
  if (classes?.every((name) => (REVENUE_CLASSES as readonly string[]).includes(name)) === false)
    throw refusalError('400', `revenueClasses are of ${REVENUE_CLASSES.join(', ')}`)
  const blocks = await accountBlocks(context, askedDays(args, context.nowMs, LISTED))
  const wanted = blocks.filter(({ revenue_class }) => classes === undefined || classes.includes(revenue_class))
  return toConnection(wanted, context, {
    name: 'blocks',
    args,
    keyOf: ({ slot }) => [slot],
    isBehind: ({ slot }, [last]) => Number(slot) < Number(last),
  })
}

interface SettlementsArguments extends WindowArguments, PageArguments {
  readonly validatorIndexes?: readonly number[] | null
  readonly kind?: 'BLOCK' | 'CORRECTION' | null
}

async function loadSettlements(args: SettlementsArguments, context: Context) {
  const days = askedDays(args, context.nowMs, { ...LISTED, whenAbsent: 'month' })
  const indices = args.validatorIndexes == null ? undefined : new Set(args.validatorIndexes)
  if (args.validatorIndexes?.some((index) => index < 0) === true)
    throw refusalError('400', 'validatorIndexes are whole numbers from 0')
  const records = (await settlementsOf(context, days)).filter(
    ({ validator_index, kind }) =>
      (indices === undefined || indices.has(validator_index)) &&
      (args.kind == null || args.kind === kind.toUpperCase()),
  )
  const connection = toConnection(records, context, {
    name: 'settlements',
    args,
    keyOf: ({ time_sec, id }) => [String(time_sec), id],
    isBehind: ({ time_sec, id }, [lastSec, lastId]) =>
      time_sec < Number(lastSec) || (time_sec === Number(lastSec) && Number(id) < Number(lastId)),
  })
  const sumOf = (column: 'user_reward_wei' | 'service_fee_wei') =>
    wei(records.reduce((sum, record) => sum + BigInt(record[column]), 0n))
  const completeness = async () =>
    completenessOfSettled(context, await context.horizon(), { days, indices: args.validatorIndexes ?? [] })
  return {
    ...connection,
    completeness,
    sumUserReward: sumOf('user_reward_wei'),
    sumServiceFee: sumOf('service_fee_wei'),
  }
}

async function loadNetwork(args: WindowArguments, context: Context): Promise<readonly NetworkDayRow[]> {
  const { from, to } = askedDays(args, context.nowMs, LISTED)
  const horizon = await context.horizon()
  if (horizon === undefined) return []
  const { chain, clock, closedDays } = horizon
  const slots = { fromSlot: firstSlotOfDay(clock, from), toSlot: firstSlotOfDay(clock, to) }
  const rows = await selectNetworkDays(context.warehouse, { chain, from: formatDay(from), to: formatDay(to), ...slots })
  const closed = new Set<DayNumber | undefined>(closedDays.map(({ day }) => day))
  return rows.filter(({ day }) => closed.has(parseDay(day)))
}
