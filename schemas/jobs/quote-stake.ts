import { type Static, Type } from 'typebox'
import { ACCOUNT_PATTERN } from '../events/accounts.ts'
import { CREATED_MAX } from '../events/created-validators.ts'
import { Address, Bytes, Chain, Pubkey, UInt } from '../events/fields.ts'
import { answeringJob } from './job.ts'

const Quantity = Type.String({ pattern: '^0x(0|[1-9a-f][0-9a-f]*)$' })
const ChecksummedAddress = Type.String({ pattern: '^0x[0-9a-fA-F]{40}$' })

/** A transaction to sign, as JSON-RPC writes one: quantities are hex without leading zeros. */
export const QuotedTransaction = Type.Object(
  {
    gas: Quantity,
    to: ChecksummedAddress,
    from: ChecksummedAddress,
    value: Quantity,
    data: Bytes,
    chainId: Quantity,
  },
  { additionalProperties: false },
)
export type QuotedTransaction = Static<typeof QuotedTransaction>

/** That a question names: 200 kB. Further ones, of which the newest go first, are known by other ways. */
export const DEPOSITED_MAX = 2_000

const QuoteStakeInput = Type.Object({
  chain: Chain,
  /** Whose the validators are. */
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  strategyId: Type.String(),
  /** What the asker calls itself. */
  source: Type.String(),
  /** Who stakes, and may unstake. */
  address: Address,
  count: Type.Integer({ minimum: 1, maximum: CREATED_MAX }),
  /** SHA-256 of the client's network address, hex: it tells clients apart, and is no address. */
  client: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  /** Validators that were prepared for the address, and whose own deposits the index has seen on the chain. */
  deposited: Type.Array(Pubkey, { maxItems: DEPOSITED_MAX }),
  /** Unix milliseconds on the machine of who asks, not on the chain: nobody waits for the answer any more. */
  notAfterMs: UInt,
})
export type QuoteStakeInput = Static<typeof QuoteStakeInput>

const QuoteStakeOutput = Type.Union([
  Type.Object({ status: Type.Literal('quoted'), transaction: QuotedTransaction }),
  /** Nothing can be made of it, whoever asks again; the sentence says why. */
  Type.Object({ status: Type.Literal('refused'), reason: Type.String() }),
  /** Too many keys wait for their deposits. */
  Type.Object({ status: Type.Literal('limited'), reason: Type.String() }),
  /** No node or vault answered, or it was too late. */
  Type.Object({ status: Type.Literal('unavailable') }),
])
export type QuoteStakeOutput = Static<typeof QuoteStakeOutput>

/** Prepares validators for whoever asks what staking would be. The id is made for each asking: equal questions are known by the vault. */
export const quoteStake = answeringJob(
  'quote-stake',
  { input: QuoteStakeInput, output: QuoteStakeOutput },
  ({ chain, address, client, notAfterMs }) => `${chain}/${address}/${client}/${notAfterMs}`,
)
