import { type Static, Type } from 'typebox'
import { checksumAddress } from '../../eth/address.ts'
import {
  addressText,
  Cursor,
  EndDate,
  ethText,
  LISTED_VALIDATORS_MAX,
  Limit,
  Page,
  PubkeyText,
  StartDate,
  ValidatorIndex,
} from '../fields.ts'
import { defineRoute } from '../route.ts'
import { COMPLETE_EXAMPLE, figuresEnvelopeOf } from './completeness.ts'

/** Ids of corrections begin behind it: above every block height, and exact in a double. */
export const CORRECTION_IDS_BEHIND = 2 ** 52

const SettledReward = Type.Object(
  {
    id: Type.Integer({
      minimum: 0,
      description: `Record id, which no other record has and which stays: the block height; of a correction ${CORRECTION_IDS_BEHIND} and its number.`,
    }),
    kind: Type.Enum(['block', 'correction'], {
      description:
        'What the record settles: the revenue of a block, or what records of locked days lack or have too much.',
    }),
    pubkey: PubkeyText,
    validator_index: ValidatorIndex,
    fee_address: addressText('Who got the block’s revenue; of a correction the zero address.'),
    el_reward: ethText(
      'What the block provably paid; of a correction its two amounts together, which may be negative.',
    ),
    fee_rate: Type.String({
      pattern: '^[01](\\.\\d+)?$',
      description:
        'The service’s share of `el_reward`, decimal fraction, as it was in force when the block was produced; 0 of a correction.',
    }),
    user_reward: ethText('The user’s share: `el_reward` less `service_fee`. Negative where a correction takes back.'),
    service_fee: ethText(
      'The service’s share: `el_reward` times `fee_rate`, rounded down to the wei. Signed in a correction.',
    ),
    reward_time: Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$',
      description: 'Time of the block, or of the correction, UTC+8.',
    }),
    block_number: Type.Integer({
      minimum: 0,
      description:
        'Height of the block; of a correction that of the block of which more is known than when its day was locked, 0 where it is of none.',
    }),
    reason: Type.Union([Type.String(), Type.Null()], {
      description: 'Why there is a correction, as whoever wrote it said it; null of a block.',
    }),
  },
  { additionalProperties: false },
)
export type SettledReward = Static<typeof SettledReward>

export const settledRewards = defineRoute({
  id: 'getSettledRewards',
  method: 'GET',
  paths: ['/api/v1/cloud/validator/el/settle/rewards'],
  summary: 'Settled execution-layer rewards',
  description:
    'One record per finalized block, of a validator that was the account’s on the block’s day, of which is proven what it paid, and per ' +
    'correction, whose time lies in the UTC+8 days `[start_date, end_date)`, newest first. A block of which that is not proven has no record: ' +
    '`blocks_unproven_count` of daily rewards counts it. Records of locked days never change, whatever is found out of their ' +
    'blocks: what they lack or have too much is a correction of the day on which it was found. The sums cover the whole filter, not the page. Without dates: the last 31 days, today included. ' +
    'Only `start_date`: through today. Only `end_date`: the 31 days before it. A range has at most 31 days, but for CSV.',
  query: Type.Object({
    start_date: Type.Optional(StartDate),
    end_date: Type.Optional(EndDate),
    validator_indexes: Type.Array(ValidatorIndex, {
      default: [],
      maxItems: LISTED_VALIDATORS_MAX,
      description:
        'Only these validators; empty means all of the account. `validator_indexes=1,2`, `=[1,2]`, repeated keys, ' +
        '`validator_indexes[]=1` and `validator_indexes[0]=1` are understood.',
    }),
    page: Page,
    limit: Limit,
    cursor: Cursor,
  }),
  csv: { row: SettledReward, hasTaxForm: true },
  response: figuresEnvelopeOf(
    Type.Object(
      {
        rewards: Type.Array(SettledReward),
        sum_reward: ethText('Sum of `user_reward`: the users’ share, fees subtracted, corrections included.'),
        sum_service_fee: ethText('Sum of `service_fee`, corrections included.'),
      },
      { additionalProperties: false },
    ),
  ),
  refusals: ['400', '4001', '4002', '4003'],
  example: {
    code: '200',
    msg: 'Success',
    data: {
      rewards: [
        {
          id: 17600000,
          kind: 'block',
          pubkey: `0x${'a1'.repeat(48)}`,
          validator_index: 21,
          fee_address: checksumAddress(`0x${'fe'.repeat(20)}`),
          el_reward: '0.0197237331857824',
          fee_rate: '0.3',
          user_reward: '0.01380661323004768',
          service_fee: '0.00591711995573472',
          reward_time: '2023-07-01 08:00:11',
          block_number: 17600000,
          reason: null,
        },
      ],
      sum_reward: '0.01380661323004768',
      sum_service_fee: '0.00591711995573472',
    },
    pagination: { page: 1, limit: 10, total: 1 },
    next_cursor: null,
    completeness: COMPLETE_EXAMPLE,
  },
})
