import { type Static, Type } from 'typebox'
import { checksumAddress } from '../../eth/address.ts'
import { FAR_FUTURE_EPOCH_TEXT } from '../../eth/far-future.ts'
import { Pagination } from '../envelope.ts'
import { addressText, EpochText, Limit, Page, PubkeyText } from '../fields.ts'
import { defineQuoteRoute, Source, StakerAddress } from './quote-route.ts'

const GweiText = (meaning: string) =>
  Type.String({ pattern: '^[0-9]+$', description: `${meaning} Gwei as decimal text.` })
const EXAMPLE_ADDRESS = checksumAddress(`0x${'ad'.repeat(20)}`)
const OWN =
  'Only validators of the account that quotes are made for are known here: those that they have prepared, and others that it has.'

const AddressBalance = Type.Object(
  {
    address: addressText('The withdrawal address.'),
    validators: Type.Integer({ minimum: 0, description: 'How many the registry knows.' }),
    balance: GweiText('What they have, rewards that were not paid out among it.'),
    effectiveBalance: GweiText('What they are paid for.'),
    epoch: Type.Union([EpochText, Type.Null()], { description: 'Newest final epoch, at whose end it was so.' }),
  },
  { additionalProperties: false },
)
export type AddressBalance = Static<typeof AddressBalance>

export const addressBalanceRoute = defineQuoteRoute({
  id: 'getAddressBalance',
  path: '/address/balance',
  summary: 'What an address has staked',
  description: `The balances of all validators whose withdrawal address it is. ${OWN}`,
  query: Type.Object({ source: Source, address: StakerAddress }),
  response: AddressBalance,
  example: {
    address: EXAMPLE_ADDRESS,
    validators: 2,
    balance: '64000012345',
    effectiveBalance: '64000000000',
    epoch: '420000',
  },
})

const AddressValidator = Type.Object(
  {
    pubkey: PubkeyText,
    status: Type.String({
      description:
        'As in the details of validators: `provisioned`, `failed`, `expired`, `deposited_not_finalized`, `deposited`, then those of the Beacon API.',
    }),
    balance: GweiText('At the end of the newest final epoch; 0 before the registry knows it.'),
    effectiveBalance: GweiText('Likewise.'),
    activationEpoch: EpochText,
    exitEpoch: EpochText,
  },
  { additionalProperties: false },
)
const AddressValidators = Type.Object(
  {
    address: addressText('The withdrawal address.'),
    validators: Type.Array(AddressValidator),
    pagination: Pagination,
  },
  { additionalProperties: false },
)
export type AddressValidators = Static<typeof AddressValidators>

export const addressValidatorRoute = defineQuoteRoute({
  id: 'getAddressValidators',
  path: '/address/validator',
  summary: 'The validators of an address',
  description: `All validators whose withdrawal address it is, prepared ones that wait for their deposits among them. ${OWN}`,
  query: Type.Object({ source: Source, address: StakerAddress, page: Page, limit: Limit }),
  response: AddressValidators,
  example: {
    address: EXAMPLE_ADDRESS,
    validators: [
      {
        pubkey: `0x${'a1'.repeat(48)}`,
        status: 'active_ongoing',
        balance: '32000012345',
        effectiveBalance: '32000000000',
        activationEpoch: '419000',
        exitEpoch: FAR_FUTURE_EPOCH_TEXT,
      },
    ],
    pagination: { page: 1, limit: 10, total: 1 },
  },
})
