import { type Static, Type } from 'typebox'
import { checksumAddress } from '../../eth/address.ts'
import { VALIDATOR_STATUSES } from '../../events/beacon-epoch.ts'
import { EARLY_STATUSES } from '../../validator-lifecycle.ts'
import { listEnvelopeOf } from '../envelope.ts'
import { AskedPubkey, Cursor, EpochText, Instant, LISTED_VALIDATORS_MAX, Limit, Page, PubkeyText } from '../fields.ts'
import { defineRoute, NoParameters } from '../route.ts'

/** Addresses that are not known are empty text. */
const KnownAddress = Type.String({
  pattern: '^(0x[0-9a-fA-F]{40})?$',
  description: '20 bytes, hex with the EIP-55 checksum, or empty.',
})

/** Not in the original: how far off an estimate may be. */
const ErrorSeconds = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
  description:
    'The estimate is expected to be right within so many seconds before and after; 0 once the chain has fixed it.',
})

const ValidatorDetail = Type.Object(
  {
    network: Type.String(),
    pubkey: PubkeyText,
    withdrawal_address: KnownAddress,
    withdrawal_credentials: Type.String({ pattern: '^0x[0-9a-f]{64}$' }),
    fee_recipient_address: KnownAddress,
    deposit_from_address: KnownAddress,
    status: Type.Enum([...EARLY_STATUSES, ...VALIDATOR_STATUSES]),
    slashed: Type.Boolean(),
    activation_epoch: EpochText,
    exit_epoch: EpochText,
    withdrawable_epoch: EpochText,
    status_estimates: Type.Object(
      {
        estimated_active_at: Instant,
        estimated_exit_at: Instant,
        estimated_withdrawal_at: Instant,
        error_seconds: Type.Object(
          { active: ErrorSeconds, exit: ErrorSeconds, withdrawal: ErrorSeconds },
          { additionalProperties: false },
        ),
      },
      { additionalProperties: false },
    ),
    is_need_exit: Type.Boolean(),
    is_post_exit: Type.Boolean(),
    label: Type.String({ description: 'What the account calls it; empty where it has given it no label.' }),
  },
  { additionalProperties: false },
)
export type ValidatorDetail = Static<typeof ValidatorDetail>

export const validatorDetails = defineRoute({
  id: 'getValidatorDetails',
  method: 'POST',
  paths: ['/api/v1/validator/details'],
  summary: 'State of the validators',
  description:
    'State at the newest complete finalized epoch: those that were created here first, the newest before others and then by public key, ' +
    'then the others by descending index. Before the registry knows a validator that was created, it is `provisioned`, or `expired` ' +
    'when nobody has funded it for long, or `failed` after its staking transaction was reverted, until another one is broadcast; `deposited_not_finalized` while the block of its deposit may still be taken back, whoever has ' +
    'sent it, and then `deposited`, or `failed` where the chain has dropped it for its signature. A deposit that a reorganisation takes back leaves what was before it. Other public keys that the ' +
    'registry does not know, or that the account does not have, are left out. `fee_recipient_address` is who got the revenue of the last ' +
    'finalized block for which that is proven (of a block that a builder made, the one whom it has paid), or what a created validator was created with. The estimates are null before the deposit, of the exit until one is ' +
    'asked for; exact once the chain has fixed the epoch; otherwise they follow from the queues and limits at the head, with ' +
    '`error_seconds`. An empty body means all validators.',
  query: NoParameters,
  body: Type.Object({
    pubkeys: Type.Array(AskedPubkey, {
      default: [],
      maxItems: LISTED_VALIDATORS_MAX,
      description: 'Only these validators; empty means all.',
    }),
    withdrawal_address: Type.Optional(
      Type.String({ pattern: '^0[xX][0-9a-fA-F]{40}$', description: 'Only validators that withdraw to this address.' }),
    ),
    page: Page,
    limit: Limit,
    cursor: Cursor,
  }),
  csv: { row: ValidatorDetail },
  response: listEnvelopeOf(Type.Array(ValidatorDetail)),
  refusals: ['400'],
  example: {
    code: '200',
    msg: 'Success',
    data: [
      {
        network: 'mainnet',
        pubkey: `0x${'a1'.repeat(48)}`,
        withdrawal_address: checksumAddress(`0x${'ad'.repeat(20)}`),
        withdrawal_credentials: `0x01${'00'.repeat(11)}${'ad'.repeat(20)}`,
        fee_recipient_address: checksumAddress(`0x${'fe'.repeat(20)}`),
        deposit_from_address: '',
        status: 'active_ongoing',
        slashed: false,
        activation_epoch: '211000',
        exit_epoch: '18446744073709551615',
        withdrawable_epoch: '18446744073709551615',
        status_estimates: {
          estimated_active_at: '2023-06-27T02:40:23.000Z',
          estimated_exit_at: null,
          estimated_withdrawal_at: null,
          error_seconds: { active: 0, exit: null, withdrawal: null },
        },
        is_need_exit: false,
        is_post_exit: false,
        label: '',
      },
    ],
    pagination: { page: 1, limit: 10, total: 1 },
    next_cursor: null,
  },
})
