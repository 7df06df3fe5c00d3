import { type Static, Type } from 'typebox'
import { checksumAddress } from '../../eth/address.ts'
import { CREATED_MAX } from '../../events/created-validators.ts'
import { envelopeOf } from '../envelope.ts'
import { addressText, PubkeyText } from '../fields.ts'
import { idempotencyHeaders } from '../idempotency-key.ts'
import { restricting } from '../restricting.ts'
import { defineRoute, NoParameters } from '../route.ts'

function bytesText(bytes: number, meaning: string) {
  return Type.String({
    pattern: `^0x[0-9a-f]{${2 * bytes}}$`,
    description: `${meaning} ${bytes} bytes, lower-case hex.`,
  })
}
const WeiText = Type.String({ pattern: '^[0-9]+$', description: 'Wei as decimal text.' })
const Calldata = Type.String({ pattern: '^0x([0-9a-f]{2})*$', description: 'Lower-case hex.' })

const CreatedValidator = Type.Object(
  {
    network: Type.String(),
    pubkey: PubkeyText,
    amount_wei: WeiText,
    withdrawal_address: addressText('Where the stake and its consensus rewards go; it never changes.'),
    deposit_from_address: addressText('Who is to send the staking transaction.'),
    fee_recipient_address: addressText('Where execution rewards are to go.'),
    deposit_data: Type.Object(
      {
        amount: Type.Integer({ description: 'Gwei.' }),
        signature: bytesText(96, 'BLS signature of the validator over the deposit message.'),
        deposit_data_root: bytesText(32, 'Hash tree root of the deposit data, which the deposit contract checks.'),
        deposit_message_root: bytesText(32, 'Hash tree root of the deposit message.'),
        fork_version: bytesText(4, 'Fork version of the genesis, which the signature is for.'),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false },
)

const StakingTransaction = Type.Object(
  {
    from: addressText('Who is to sign and send it.'),
    to: addressText('The staking contract.'),
    amount_wei: WeiText,
    contract_call_data: Calldata,
    gas: Type.String({ pattern: '^[0-9]+$', description: 'Gas limit, above what the call uses, as decimal text.' }),
    unsigned_transaction: Type.Union([Calldata, Type.Null()], {
      description:
        'The transaction of type 2 (EIP-1559), serialised and not signed, with the nonce and the fees of the moment; null where no ' +
        'execution node could be asked.',
    }),
  },
  { additionalProperties: false },
)

const Created = Type.Object(
  { validators: Type.Array(CreatedValidator), staking_transaction: StakingTransaction },
  { additionalProperties: false },
)
export type Created = Static<typeof Created>

const AddressInput = (meaning: string) =>
  Type.String({
    pattern: '^0[xX][0-9a-fA-F]{40}$',
    description: `${meaning} 20 bytes, hex of one case or with the EIP-55 checksum.`,
  })

const EXAMPLE_ADDRESS = checksumAddress(`0x${'ad'.repeat(20)}`)

export const createValidatorsRoute = defineRoute({
  id: 'createValidators',
  scope: 'create',
  method: 'POST',
  paths: ['/api/v1/validator/create'],
  summary: 'Create validators',
  description:
    'Makes keys for validators of the account, seals them, and answers their signed deposits with the one transaction that makes ' +
    'all of them: sign it with the wallet of `deposit_from_address`. Credentials are 0x01, 32 ETH each. With an `Idempotency-Key` ' +
    'header the same request is answered with the same validators; another request with the same key is refused.',
  query: NoParameters,
  headers: idempotencyHeaders('account and chain'),
  body: Type.Object(
    {
      validator_count: Type.Integer({ minimum: 1, maximum: CREATED_MAX, description: 'How many validators.' }),
      withdrawal_address: AddressInput('Where the stake and its consensus rewards go; it never changes.'),
      deposit_from_address: Type.Optional(
        restricting(AddressInput('Who sends the transaction; the withdrawal address unless given.')),
      ),
      fee_recipient_address: Type.Optional(
        restricting(AddressInput('Where execution rewards go; the withdrawal address unless given.')),
      ),
    },
    // Money follows from it: what is not understood is not passed over.
    { additionalProperties: false },
  ),
  response: envelopeOf(Created),
  refusals: ['400'],
  example: {
    code: '200',
    msg: 'Success',
    data: {
      validators: [
        {
          network: 'mainnet',
          pubkey: `0x${'a1'.repeat(48)}`,
          amount_wei: '32000000000000000000',
          withdrawal_address: EXAMPLE_ADDRESS,
          deposit_from_address: EXAMPLE_ADDRESS,
          fee_recipient_address: EXAMPLE_ADDRESS,
          deposit_data: {
            amount: 32_000_000_000,
            signature: `0x${'b2'.repeat(96)}`,
            deposit_data_root: `0x${'c3'.repeat(32)}`,
            deposit_message_root: `0x${'d4'.repeat(32)}`,
            fork_version: '0x00000000',
          },
        },
      ],
      staking_transaction: {
        from: EXAMPLE_ADDRESS,
        to: checksumAddress(`0x${'de'.repeat(20)}`),
        amount_wei: '32000000000000000000',
        contract_call_data: '0x4f498c73',
        gas: '192000',
        unsigned_transaction: null,
      },
    },
  },
})
