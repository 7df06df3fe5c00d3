import { LIMIT_MAX } from '../../schemas/routes/fields.ts'
import type { DayProof, ProofEffect, ProofEpoch, ProofPoint } from '../../schemas/routes/rewards/validator-proof.ts'
import { proofOf } from '../rewards/validator-proof.ts'
import { gwei } from './amounts.ts'
import { ofValidators, refusalError } from './refusals.ts'
import { checkPubkey } from './validator-list.ts'

export const proofResolvers = {
  Query: {
    proof: ofValidators(async (args: { readonly pubkey: string; readonly date: string }, context) => {
      checkPubkey(args.pubkey)
      const asked = await proofOf(context, args)
      if (asked.status === 'refused') throw refusalError(asked.code, asked.detail)
      return asked.proof
    }),
  },
  DayProof: {
    index: (row: DayProof) => row.validator_index,
    level: (row: DayProof) => row.level.toUpperCase(),
    isWithheld: (row: DayProof) => row.is_withheld,
    ...amounts<DayProof>({
      ...{ source: 'source_gwei', target: 'target_gwei', head: 'head_gwei', inactivity: 'inactivity_gwei' },
      ...{ sync: 'sync_gwei', proposer: 'proposer_gwei', slashingPenalty: 'slashing_penalty_gwei' },
      ...{ deposits: 'deposits_gwei', withdrawals: 'withdrawals_gwei', movedToQueue: 'moved_to_queue_gwei' },
      ...{ returnedFromQueue: 'returned_from_queue_gwei', consolidationsIn: 'consolidations_in_gwei' },
      ...{ consolidationsOut: 'consolidations_out_gwei', components: 'components_gwei', flows: 'flows_gwei' },
      ...{ balanceChange: 'balance_change_gwei', residual: 'residual_gwei', consensusReward: 'cl_reward_gwei' },
    }),
    epochs: (
      { epochs }: DayProof,
      { first, after }: { readonly first?: number | null; readonly after?: number | null },
    ) => {
      const most = first ?? LIMIT_MAX
      if (most < 1 || most > LIMIT_MAX) throw refusalError('400', `first is not between 1 and ${LIMIT_MAX}`)
      return epochs.filter(({ epoch }) => epoch > (after ?? -1)).slice(0, most)
    },
  },
  ProofPoint: {
    ...amounts<ProofPoint>({ balance: 'balance_gwei' }),
    stateRoot: (row: ProofPoint) => row.state_root,
    blockSlot: (row: ProofPoint) => row.block_slot,
    blockRoot: (row: ProofPoint) => row.block_root,
  },
  ProofEpoch: {
    firstSlot: (row: ProofEpoch) => row.first_slot,
    lastSlot: (row: ProofEpoch) => row.last_slot,
    level: (row: ProofEpoch) => (row.level === 'reported' ? null : row.level.toUpperCase()),
    hasTransition: (row: ProofEpoch) => row.has_transition,
    ...amounts<ProofEpoch>({
      ...{ source: 'source_gwei', target: 'target_gwei', head: 'head_gwei', inactivity: 'inactivity_gwei' },
      ...{ components: 'components_gwei', flows: 'flows_gwei' },
      ...{ balanceChange: 'balance_change_gwei', residual: 'residual_gwei' },
    }),
  },
  ProofEffect: {
    ...amounts<ProofEffect>({ amount: 'amount_gwei' }),
    blockRoot: (row: ProofEffect) => row.block_root,
  },
}

type AmountNames<Row> = { readonly [Name in keyof Row]: Row[Name] extends string | null ? Name : never }[keyof Row]

/** Resolvers of fields that are amounts of a row in gwei: by what its own name for each is. */
function amounts<Row>(fields: Readonly<Record<string, AmountNames<Row>>>) {
  const resolve = (name: AmountNames<Row>) => (row: Row) => {
    const text = row[name] as string | null
    return text === null ? null : gwei(BigInt(text))
  }
  return Object.fromEntries(Object.entries(fields).map(([field, name]) => [field, resolve(name)]))
}
