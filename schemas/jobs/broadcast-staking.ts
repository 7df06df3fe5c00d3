import { type Static, Type } from 'typebox'
import { BROADCAST_REASONS } from '../broadcast-reasons.ts'
import { ACCOUNT_PATTERN } from '../events/accounts.ts'
import { Bytes, Chain, Hash, UInt } from '../events/fields.ts'
import { answeringJob } from './job.ts'

const BroadcastStakingInput = Type.Object({
  chain: Chain,
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  txHash: Hash,
  rawTransaction: Bytes,
  /** Unix milliseconds on the machine of who asks, not on the chain: nobody waits for the answer any more. */
  notAfterMs: UInt,
})
export type BroadcastStakingInput = Static<typeof BroadcastStakingInput>

const BroadcastStakingOutput = Type.Union([
  /** A node has it, or had it before. */
  Type.Object({ status: Type.Literal('sent') }),
  /** It was not sent, or no node has taken it: the word is for programs, the sentence for whoever asked. */
  Type.Object({ status: Type.Literal('refused'), reason: Type.Enum([...BROADCAST_REASONS]), sentence: Type.String() }),
  /** Nothing was sent: no node could be reached, or the validator client could not, or it was too late. */
  Type.Object({ status: Type.Literal('unavailable'), away: Type.Optional(Type.Literal('validator_client')) }),
])
export type BroadcastStakingOutput = Static<typeof BroadcastStakingOutput>

/** Checks a signed staking transaction and sends it. The role knows what it has sent: the same transaction twice is sent once. */
export const broadcastStaking = answeringJob(
  'broadcast-staking',
  { input: BroadcastStakingInput, output: BroadcastStakingOutput },
  ({ txHash }) => txHash,
)
