import { type Static, Type } from 'typebox'
import { VALIDATOR_STATUSES } from '../../events/beacon-epoch.ts'
import { pagedEnvelopeOf } from '../envelope.ts'
import { EthText, Limit, Page, PubkeyText, ValidatorIndex } from '../fields.ts'
import { defineRoute } from '../route.ts'

const ValidatorTotal = Type.Object(
  {
    validator_index: ValidatorIndex,
    pubkey: PubkeyText,
    el_total_reward: EthText,
    cl_total_reward: EthText,
    total_reward: EthText,
    cl_balance: EthText,
    effective_balance: EthText,
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
    'Figures up to the newest complete finalized epoch. Items by ascending validator index; the aggregates cover all ' +
    'validators of the account, not the page. Income counts on the UTC+8 days on which the account has the validator. One that ' +
    'it had before keeps its item, with the chain’s balance and status of it, and counts in `validators_total_rewards` alone. ' +
    'A validator that is not in the registry yet counts in `validators_total_count` and has no item.',
  query: Type.Object({ page: Page, limit: Limit }),
  response: pagedEnvelopeOf(
    Type.Object(
      {
        validator_details: Type.Array(ValidatorTotal),
        validators_active_count: Type.Integer({ minimum: 0, description: 'Validators with an active status.' }),
        validators_total_count: Type.Integer({ minimum: 0 }),
        validators_total_rewards: EthText,
        validators_total_cl_balance: EthText,
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
  },
})
