import { type Static, Type } from 'typebox'
import { REQUESTED_EXITS_MAX } from '../eth/withdrawal-request.ts'
import { Address, Chain, Pubkey, UInt } from '../events/fields.ts'
import { answeringJob } from './job.ts'
import { QuotedTransaction } from './quote-stake.ts'

const QuoteUnstakeInput = Type.Object({
  chain: Chain,
  /** The withdrawal address of the validators. */
  address: Address,
  /** Without repetitions. */
  pubkeys: Type.Union([
    Type.Array(Pubkey, { minItems: 1, maxItems: REQUESTED_EXITS_MAX, uniqueItems: true }),
    Type.Literal('all'),
  ]),
  /** Gwei; absent: all of it. */
  amountGwei: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,19}$' })),
  /** Unix milliseconds on the machine of who asks, not on the chain: nobody waits for the answer any more. */
  notAfterMs: UInt,
})
export type QuoteUnstakeInput = Static<typeof QuoteUnstakeInput>

const QuoteUnstakeOutput = Type.Union([
  Type.Object({ status: Type.Literal('quoted'), transaction: QuotedTransaction }),
  /** No transaction would do what is asked for; the sentence says why. `unknown`: because the registry does not know this validator. */
  Type.Object({ status: Type.Literal('refused'), reason: Type.String(), unknown: Type.Optional(Pubkey) }),
  /** No node answered, or it was too late. */
  Type.Object({ status: Type.Literal('unavailable') }),
])
export type QuoteUnstakeOutput = Static<typeof QuoteUnstakeOutput>

/** Makes the transaction that unstakes. The id is made for each asking: nothing is kept of it. */
export const quoteUnstake = answeringJob(
  'quote-unstake',
  { input: QuoteUnstakeInput, output: QuoteUnstakeOutput },
  ({ chain, address, notAfterMs }) => `${chain}/${address}/${notAfterMs}`,
)
