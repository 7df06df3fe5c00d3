import { Type } from 'typebox'
import { checksumAddress } from '../../eth/address.ts'
import { REQUESTED_EXITS_MAX } from '../../eth/withdrawal-request.ts'
import { QuotedTransaction } from '../../jobs/quote-stake.ts'
import { defineQuoteRoute, Source, StakerAddress } from './quote-route.ts'

const PUBKEY = '(0[xX])?[0-9a-fA-F]{96}'
const LIST_CHARACTERS_MAX = REQUESTED_EXITS_MAX * 99

export const unstakeQuoteRoute = defineQuoteRoute({
  id: 'getUnstakeQuote',
  path: '/quote/unstake',
  summary: 'A transaction that unstakes',
  description:
    'Answers a withdrawal request of EIP-7002, to be signed and sent by the withdrawal address of the validator: its validator exits, or a ' +
    'compounding one (0x02) pays out a part. The value is the request’s fee with room for others that come first; what is above the fee is not ' +
    'given back. A request that the consensus layer would pass over is refused: an unknown or exiting validator, one of another ' +
    'withdrawal address, one that is not active or has not been for 256 epochs, one with partial withdrawals that are pending, an amount that it ' +
    'cannot pay out. Several validators, or all of the address, are a call to the exit-request contract that is configured for the chain: the ' +
    'operator lets them exit once it is final. It is refused where one of them would not exit, and where no contract is configured. A ' +
    'header `x-reason` says which.',
  query: Type.Object({
    source: Source,
    address: StakerAddress,
    pubkeys: Type.String({
      pattern: `^(all|${PUBKEY}(,${PUBKEY})*)$`,
      maxLength: LIST_CHARACTERS_MAX,
      description:
        'Public keys, hex, separated by commas, or `all` that the address has here. Several, or all, are unstaked together where a contract for ' +
        'that is configured, and never a part of them.',
      examples: [`0x${'a1'.repeat(48)}`],
    }),
    amount: Type.Optional(
      Type.String({
        pattern: '^[1-9][0-9]{0,19}$',
        description:
          'What to unstake of the one validator, gwei as decimal text; all of it unless given. Of several it can only be all.',
        examples: ['32000000000'],
      }),
    ),
  }),
  response: QuotedTransaction,
  example: {
    gas: '0x1e848',
    to: checksumAddress('0x00000961ef480eb55e80d19ad83579a64c007002'),
    from: checksumAddress(`0x${'ad'.repeat(20)}`),
    value: '0x6',
    data: `0x${'a1'.repeat(48)}${'00'.repeat(8)}`,
    chainId: '0x1',
  },
})
