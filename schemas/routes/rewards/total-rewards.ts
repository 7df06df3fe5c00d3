import { type Static, Type } from 'typebox'
import { VALIDATOR_STATUSES } from '../../events/beacon-epoch.ts'
import { Cursor, ethText, Limit, Page, PubkeyText, ValidatorIndex } from '../fields.ts'
import { defineRoute } from '../route.ts'
import { COMPLETE_EXAMPLE, figuresEnvelopeOf } from './completeness.ts'

const ValidatorTotal = Type.Object(
  {
    validator_index: ValidatorIndex,
    pubkey: PubkeyText,
    el_total_reward: ethText('What its blocks provably paid on the account’s days, before any fee.'),
    cl_total_reward: ethText(
      'What the consensus layer credited on the account’s days, penalties subtracted; negative for a loss.',
    ),
    total_reward: ethText('`el_total_reward` and `cl_total_reward` together.'),
    cl_balance: ethText('Balance on the consensus layer at the newest complete epoch, deposits included.'),
    effective_balance: ethText('Effective balance at the newest complete epoch, which rewards are in proportion to.'),
    status: Type.Enum([...VALIDATOR_STATUSES]),
  },
  { additionalProperties: false },
)
export type ValidatorTotal = Static<typeof ValidatorTotal>

export const totalRewards = defineRoute({
  id: 'getTotalRewards',
  method: 'GET',
  paths: ['/api/v1/validator/total-rewards'],
  summary: 'Cumulative income and balance of each validator',
  description:
    'Figures from the first epoch of the log up to the newest complete finalized one: with what the day paid in which the log began, of which ' +
    'there may be no daily figure. One that the newest epoch does not have yet, as it was tracked after it, has no item, and `completeness` counts it as ' +
    'missing. Days on which a validator’s balance changed by what nothing explains are in none of ' +
    'them, and `completeness` names these days. Items by ascending validator index; the aggregates cover all ' +
    'validators of the account, not the page. Income counts on the UTC+8 days on which the account has the validator. One that ' +
    'it had before keeps its item, with the chain’s balance and status of it, and counts in `validators_total_rewards` alone. ' +
    'A validator whose deposit is on chain and that is not in the registry yet counts in `validators_total_count` and has no item; ' +
    'one without a deposit does not count. So `pagination.total`, which counts the items of all pages, is more than ' +
    '`validators_total_count` once validators have moved to another account, and less while deposits wait for the registry.',
  query: Type.Object({ page: Page, limit: Limit, cursor: Cursor }),
  csv: { row: ValidatorTotal },
  response: figuresEnvelopeOf(
    Type.Object(
      {
        validator_details: Type.Array(ValidatorTotal),
        validators_active_count: Type.Integer({
          minimum: 0,
          description:
            'Validators that the account has and whose status is an active one (`active_*`), whatever they earn.',
        }),
        validators_total_count: Type.Integer({
          minimum: 0,
          description:
            'Validators that the account has today and whose deposit is on chain. Not the number of items, `pagination.total`: those that it had before have one.',
        }),
        validators_total_rewards: ethText('Sum of `total_reward` over all items of all pages.'),
        validators_total_cl_balance: ethText('Sum of `cl_balance` over the validators that the account has.'),
      },
      { additionalProperties: false },
    ),
  ),
  refusals: ['400'],
  example: {
    code: '200',
    msg: 'Success',
    data: {
      validator_details: [
        {
          validator_index: 21,
          pubkey: `0x${'a1'.repeat(48)}`,
          el_total_reward: '0.0197237331857824',
          cl_total_reward: '0.002700123',
          total_reward: '0.0224238561857824',
          cl_balance: '32.002700123',
          effective_balance: '32',
          status: 'active_ongoing',
        },
      ],
      validators_active_count: 1,
      validators_total_count: 1,
      validators_total_rewards: '0.0224238561857824',
      validators_total_cl_balance: '32.002700123',
    },
    pagination: { page: 1, limit: 10, total: 1 },
    next_cursor: null,
    completeness: COMPLETE_EXAMPLE,
  },
})
