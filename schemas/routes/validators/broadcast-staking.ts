import { Type } from 'typebox'
import { BROADCAST_REASONS } from '../../broadcast-reasons.ts'
import { RAW_TRANSACTION_BYTES_MAX } from '../../eth/raw-transaction.ts'
import { envelopeOf } from '../envelope.ts'
import { defineRoute, NoParameters } from '../route.ts'

export const broadcastStakingRoute = defineRoute({
  id: 'broadcastStaking',
  scope: 'create',
  method: 'POST',
  paths: ['/api/v1/validator/broadcast'],
  summary: 'Broadcast a staking transaction',
  description:
    'Sends the signed transaction of created validators to every node of the chain, and again until it is final. What is not exactly ' +
    "the deposits of this account's validators, as they were created, is refused with a `reason`, and not sent. The same transaction " +
    'again is answered with the same hash. Another one for the same validators is taken with the same sender and nonce, as a ' +
    'replacement; with another nonce it is refused until the first has finally failed. The hash says that a node has the transaction: ' +
    'ask `eth_getTransactionReceipt` whether it is mined. ' +
    `\`reason\` of a refusal is one of ${BROADCAST_REASONS.map((reason) => `\`${reason}\``).join(', ')}.`,
  query: NoParameters,
  body: Type.Object(
    {
      signed_transaction: Type.String({
        pattern: '^0[xX]([0-9a-fA-F]{2})+$',
        maxLength: 2 + 2 * RAW_TRANSACTION_BYTES_MAX,
        description: 'As `eth_sendRawTransaction` takes it: of type 2, 1, or 0 with a chain id (EIP-155).',
      }),
    },
    // Money follows from it: what is not understood is not passed over.
    { additionalProperties: false },
  ),
  response: envelopeOf(
    Type.Object(
      { tx_hash: Type.String({ pattern: '^0x[0-9a-f]{64}$', description: 'Hash of the transaction.' }) },
      { additionalProperties: false },
    ),
  ),
  refusals: ['400'],
  example: { code: '200', msg: 'Success', data: { tx_hash: `0x${'e5'.repeat(32)}` } },
})
