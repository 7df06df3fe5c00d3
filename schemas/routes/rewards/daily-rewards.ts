import { type Static, Type } from 'typebox'
import { AskedUtcOffset, Cursor, EndDate, ethText, Limit, Page, StartDate } from '../fields.ts'
import { defineRoute } from '../route.ts'
import { COMPLETE_EXAMPLE, figuresEnvelopeOf } from './completeness.ts'

const DailyReward = Type.Object(
  {
    date: Type.String({ format: 'date', description: 'Day, of UTC+8 or of `utc_offset`.' }),
    el_reward: ethText(
      'What the blocks of the day provably paid, tips or a builder’s payment, before any fee: settlements are computed separately.',
    ),
    cl_reward: ethText(
      'What the consensus layer credited on the day, penalties and slashings subtracted; negative for a loss. Deposits and withdrawals are no income.',
    ),
    total_reward: ethText('`el_reward` and `cl_reward` together.'),
    validators_active_count: Type.Integer({
      minimum: 0,
      description:
        'Validators whose income of the day, execution and consensus together, is above zero: not those with an active status.',
    }),
    blocks_unproven_count: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'Only where there are any: blocks of the day of which nothing proves what they paid. It is in no figure, and may be nothing; ' +
          '`blocks` of GraphQL shows what is claimed.',
      }),
    ),
    validators_unproven_count: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          'Only where the operator has figures served that are not proven (`EPOCHLINE_UNPROVEN=serve`): validators in the sums whose ' +
          'balances changed by what nothing explains. Elsewhere they are left out, and `completeness` counts them as missing.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type DailyReward = Static<typeof DailyReward>

const {
  validators_unproven_count: _validators,
  blocks_unproven_count: _blocks,
  ...OF_EACH_DAY
} = DailyReward.properties

/** As CSV has it: a file has no `completeness` beside it, and the same columns everywhere. */
const DailyRewardLine = Type.Object(
  {
    ...OF_EACH_DAY,
    validators_missing: Type.Integer({
      minimum: 0,
      description:
        'Validators of the account of which the whole day is not known, or not explained: they are not in the sums.',
    }),
    validators_unproven_count: Type.Integer({
      minimum: 0,
      description:
        'Validators in the sums whose balances changed by what nothing explains; 0 unless the operator has them served.',
    }),
    blocks_unproven_count: Type.Integer({
      minimum: 0,
      description: 'Blocks of the day of which nothing proves what they paid: it is in no figure.',
    }),
  },
  { additionalProperties: false },
)
export type DailyRewardLine = Static<typeof DailyRewardLine>

export const dailyRewards = defineRoute({
  id: 'getDailyRewards',
  method: 'GET',
  // The specification spells the path in both ways.
  paths: ['/api/v1/validator/daily-rewards', '/api/v1/validator/daliy-rewards'],
  summary: 'Income of the validators by day',
  description:
    'One item per closed UTC+8 day of `[start_date, end_date)`, by ascending date, summed over the validators that the account has on that day. ' +
    'A day is closed when all its epochs are finalized and processed; other days are left out. Without dates: yesterday. ' +
    'Only `start_date`: through yesterday. Only `end_date`: the day before it. A range may be of any length. ' +
    'With `utc_offset` days are cut at the exact slot of another midnight, and sum the validators whose days of that midnight are exact ' +
    '(`/api/v1/validator/rewards`); `completeness` counts the others as missing, and nothing that is not proven is served.',
  query: Type.Object({
    start_date: Type.Optional(StartDate),
    end_date: Type.Optional(EndDate),
    utc_offset: Type.Optional(AskedUtcOffset),
    page: Page,
    limit: Limit,
    cursor: Cursor,
  }),
  csv: { row: DailyRewardLine, hasTaxForm: true },
  response: figuresEnvelopeOf(Type.Object({ reward: Type.Array(DailyReward) }, { additionalProperties: false })),
  refusals: ['400', '4001', '4002'],
  example: {
    code: '200',
    msg: 'Success',
    data: {
      reward: [
        {
          date: '2023-07-01',
          el_reward: '0.0197237331857824',
          cl_reward: '0.002700123',
          total_reward: '0.0224238561857824',
          validators_active_count: 1,
        },
      ],
    },
    pagination: { page: 1, limit: 10, total: 1 },
    next_cursor: null,
    completeness: COMPLETE_EXAMPLE,
  },
})
