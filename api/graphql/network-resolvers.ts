import { type DayNumber, parseDay } from '../../schemas/eth/time.ts'
import { toWei } from '../../schemas/eth/units.ts'
import { formatApr, formatRatio } from '../rewards/apr.ts'
import { consensusOf, type NetworkSums, perValidator } from '../rewards/network-sums.ts'
import type { NetworkDayRow } from '../rewards/select-chain.ts'
import { gwei } from './amounts.ts'
import type { GraphqlContext } from './context.ts'

/** Places of a part of what perfect votes would have brought. */
const EFFECTIVENESS_PLACES = 6

type Context = GraphqlContext

const dayOf = ({ day }: NetworkDayRow): DayNumber => parseDay(day) ?? 0
const share = (gweiOf: (sums: NetworkSums) => bigint) => (sums: NetworkSums) => gwei(perValidator(sums, gweiOf(sums)))

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
  NetworkAverage: {
    activeValidatorsCount: ({ active_validators, epochs }: NetworkSums) => Number(active_validators / epochs),
    effectiveBalance: ({ effective_balance_gwei, active_validators }: NetworkSums) =>
      gwei(active_validators === 0n ? 0n : effective_balance_gwei / active_validators),
    consensusReward: share(consensusOf),
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
