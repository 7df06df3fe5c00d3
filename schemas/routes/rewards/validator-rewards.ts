import { type Static, Type } from 'typebox'
import {
  AskedPubkey,
  AskedUtcOffset,
  Cursor,
  EndDate,
  ethText,
  Limit,
  Page,
  PubkeyText,
  StartDate,
  ValidatorIndex,
} from '../fields.ts'
import { defineRoute } from '../route.ts'
import { COMPLETE_EXAMPLE, figuresEnvelopeOf } from './completeness.ts'
import { WholeDayLevel } from './day-level.ts'

const ValidatorDay = Type.Object(
  {
    date: Type.String({ format: 'date', description: 'Day, of UTC+8 or of `utc_offset`.' }),
    el_reward: ethText('What its blocks of the day provably paid, before any fee.'),
    cl_reward: ethText('What the consensus layer credited on the day: the seven parts that follow, together.'),
    total_reward: ethText('`el_reward` and `cl_reward` together.'),
    source: ethText('Of attestations, for the source; negative for a penalty.'),
    target: ethText('Of attestations, for the target; likewise.'),
    head: ethText('Of attestations, for the head.'),
    inactivity: ethText('Penalty while the chain is not final.'),
    sync: ethText('Of the sync committee; negative for a penalty.'),
    proposer: ethText('Of its blocks, on the consensus layer.'),
    slashing_penalty: ethText('Of a slashing.'),
    deposits: ethText('Credited, which is no income.'),
    withdrawals: ethText('Paid out, negative: they are no loss.'),
    returned_from_queue: ethText('Credited from the queue of deposits.'),
    moved_to_queue: ethText(
      'Taken into the queue of deposits, as by a switch to compounding, to be credited later; negative (EIP-7251).',
    ),
    consolidations_in: ethText('Come from validators that were consolidated into it.'),
    consolidations_out: ethText('Gone to the validator that it was consolidated into; negative.'),
    balance_start: ethText('On the consensus layer, as the day begins.'),
    balance_end: ethText('As it ends: the start with the rewards and flows above.'),
    residual: ethText('What they do not explain; `level` says what that is worth.'),
    blocks: Type.Integer({ minimum: 0, description: 'Finalized blocks that it has proposed.' }),
    blocks_unproven: Type.Integer({
      minimum: 0,
      description:
        'Of these, those of which nothing proves what they paid: it is in no figure. `blocks` of GraphQL shows what is claimed.',
    }),
    level: WholeDayLevel,
  },
  { additionalProperties: false },
)
export type ValidatorDay = Static<typeof ValidatorDay>

export const validatorRewards = defineRoute({
  id: 'getValidatorRewards',
  method: 'GET',
  paths: ['/api/v1/validator/rewards'],
  summary: 'Income of one validator by day, with its parts and its proof',
  description:
    'One item per closed UTC+8 day of `[start_date, end_date)` on which the account has the validator, by ascending date; days of ' +
    'which something is missing are left out, and so are those that are not proven unless the operator has them served ' +
    '(`EPOCHLINE_UNPROVEN=serve`): `level` tells which they are. Dates are those of daily rewards: without them yesterday. A range may be of any length. ' +
    'With `utc_offset` days are cut at the exact slot of another midnight: one has an item when each UTC+8 day that it lies in is closed and ' +
    'all its epochs were computed of states that the chain names, whatever the operator has served; otherwise `completeness` tells it.',
  query: Type.Object({
    pubkey: AskedPubkey,
    start_date: Type.Optional(StartDate),
    end_date: Type.Optional(EndDate),
    utc_offset: Type.Optional(AskedUtcOffset),
    page: Page,
    limit: Limit,
    cursor: Cursor,
  }),
  csv: { row: ValidatorDay, hasTaxForm: true },
  response: figuresEnvelopeOf(
    Type.Object(
      {
        pubkey: PubkeyText,
        validator_index: Type.Union([ValidatorIndex, Type.Null()], {
          description: 'Null before the registry knows it.',
        }),
        rewards: Type.Array(ValidatorDay),
      },
      { additionalProperties: false },
    ),
  ),
  refusals: ['400', '4001', '4002'],
  example: {
    code: '200',
    msg: 'Success',
    data: {
      pubkey: `0x${'a1'.repeat(48)}`,
      validator_index: 21,
      rewards: [
        {
          date: '2023-07-01',
          el_reward: '0.0197237331857824',
          cl_reward: '0.002700123',
          total_reward: '0.0224238561857824',
          source: '0.00061',
          target: '0.00114',
          head: '0.00061',
          inactivity: '0',
          sync: '0',
          proposer: '0.000340123',
          slashing_penalty: '0',
          deposits: '0',
          withdrawals: '0',
          returned_from_queue: '0',
          moved_to_queue: '0',
          consolidations_in: '0',
          consolidations_out: '0',
          balance_start: '32',
          balance_end: '32.002700123',
          residual: '0',
          blocks: 1,
          blocks_unproven: 0,
          level: 'anchored',
        },
      ],
    },
    pagination: { page: 1, limit: 10, total: 1 },
    next_cursor: null,
    completeness: COMPLETE_EXAMPLE,
  },
})
