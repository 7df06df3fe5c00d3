import { type DayNumber, parseDay } from '../../schemas/eth/time.ts'
import { toWei } from '../../schemas/eth/units.ts'
import { formatApr, formatRatio } from '../rewards/apr.ts'
import { type NetworkExecution, networkExecution } from '../rewards/network-execution.ts'
import { consensusOf, consensusPerValidator, type NetworkSums, perValidator } from '../rewards/network-sums.ts'
import type { NetworkWindow } from '../rewards/network-window.ts'
import type { NetworkDayRow } from '../rewards/select-chain.ts'
import { gwei, wei } from './amounts.ts'
import type { GraphqlContext } from './context.ts'

/** Places of a part of what perfect votes would have brought. */
const EFFECTIVENESS_PLACES = 6

type Context = GraphqlContext

const dayOf = ({ day }: NetworkDayRow): DayNumber => parseDay(day) ?? 0
const share = (gweiOf: (sums: NetworkSums) => bigint) => (sums: NetworkSums) => gwei(perValidator(sums, gweiOf(sums)))

/** What blocks of the averaged days have paid. */
interface ExecutionOf {
  readonly sums: NetworkSums | undefined
  readonly paid: NetworkExecution | { readonly status: 'unknown'; readonly reason: 'NO_DAYS' }
}

async function loadExecution({ sums, days }: NetworkWindow, _: unknown, context: Context): Promise<ExecutionOf> {
  const horizon = await context.horizon()
  if (horizon === undefined || days.length === 0) return { sums, paid: { status: 'unknown', reason: 'NO_DAYS' } }
  const { chain, clock } = horizon
  return { sums, paid: await networkExecution(context.warehouse, { chain, clock, days }) }
}

async function aprOf({ sums, paid }: ExecutionOf, moreWei: bigint, context: Context): Promise<string | null> {
  const horizon = await context.horizon()
  if (horizon === undefined || sums === undefined || paid.status === 'unknown') return null
  return formatApr(paid.wei + moreWei, sums.effective_balance_gwei, horizon.clock) ?? null
}

export const networkResolvers = {
  NetworkDay: {
    date: (row: NetworkDayRow) => row.day,
    slotsCount: (row: NetworkDayRow) => Number(row.slots),
    blocksCount: (row: NetworkDayRow) => Number(row.blocks),
    emptySlotsCount: (row: NetworkDayRow) => Number(row.slots) - Number(row.blocks),
    proposersCount: (row: NetworkDayRow) => Number(row.proposers),
    average: async (row: NetworkDayRow, _: unknown, context: Context) =>
      (await context.analysts.network.load(dayOf(row))) ?? null,
    averageReason: async (row: NetworkDayRow, _: unknown, context: Context) =>
      (await context.analysts.network.load(dayOf(row))) === undefined ? 'NOT_COMPUTED_OF_STATES' : null,
  },
  NetworkPerformance: {
    daysCount: ({ closedDays }: NetworkWindow) => closedDays,
    averagedDaysCount: ({ days }: NetworkWindow) => days.length,
    average: ({ sums }: NetworkWindow) => sums ?? null,
    averageReason: ({ closedDays, days }: NetworkWindow) =>
      closedDays === 0 ? 'NO_DAYS' : days.length < closedDays ? 'NOT_COMPUTED_OF_STATES' : null,
    execution: loadExecution,
  },
  NetworkExecution: {
    reward: ({ sums, paid }: ExecutionOf) =>
      paid.status === 'known' && sums !== undefined ? wei(perValidator(sums, paid.wei)) : null,
    executionApr: (of: ExecutionOf, _: unknown, context: Context) => aprOf(of, 0n, context),
    apr: (of: ExecutionOf, _: unknown, context: Context) =>
      aprOf(of, of.sums === undefined ? 0n : toWei(consensusOf(of.sums)), context),
    reason: ({ paid }: ExecutionOf) => (paid.status === 'unknown' ? paid.reason : null),
  },
  NetworkAverage: {
    activeValidatorsCount: ({ active_validators, epochs }: NetworkSums) => Number(active_validators / epochs),
    effectiveBalance: ({ effective_balance_gwei, active_validators }: NetworkSums) =>
      gwei(active_validators === 0n ? 0n : effective_balance_gwei / active_validators),
    consensusReward: (sums: NetworkSums) => gwei(consensusPerValidator(sums)),
    source: share((sums) => sums.source_gwei),
    target: share((sums) => sums.target_gwei),
    head: share((sums) => sums.head_gwei),
    inactivity: share((sums) => sums.inactivity_gwei),
    sync: share((sums) => sums.sync_gwei),
    proposer: share((sums) => sums.proposer_gwei),
    slashingPenalty: share((sums) => sums.slashing_penalty_gwei),
    consensusApr: async (sums: NetworkSums, _: unknown, context: Context) => {
      const horizon = await context.horizon()
      if (horizon === undefined) return null
      return formatApr(toWei(consensusOf(sums)), sums.effective_balance_gwei, horizon.clock) ?? null
    },
    effectiveness: ({ ideal_attestations_gwei: ideal, ...sums }: NetworkSums) =>
      ideal === 0n
        ? null
        : formatRatio(sums.source_gwei + sums.target_gwei + sums.head_gwei, ideal, EFFECTIVENESS_PLACES),
  },
}
