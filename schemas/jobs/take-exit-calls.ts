import { type Static, Type } from 'typebox'
import { REQUESTED_EXITS_MAX } from '../eth/withdrawal-request.ts'
import { Address, Chain, Hash, Pubkey, UInt } from '../events/fields.ts'
import { job } from './job.ts'

/** Calls of one job: anybody may make thousands, and each of them may name a hundred validators. */
export const CALLS_TAKEN_MAX = 16
/** Deposits that a call is told with, of 150 bytes each: of more validators the registry alone tells that they are deposited. */
export const CALL_DEPOSITS_MAX = 10_000

const TakenCall = Type.Object({
  blockNumber: UInt,
  blockHash: Hash,
  logIndex: UInt,
  /** Unix seconds of its block. */
  timeSec: UInt,
  txHash: Hash,
  withdrawalAddress: Address,
  calledFor: Type.Union([
    Type.Object({
      kind: Type.Literal('listed'),
      /** Each once. */
      pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: REQUESTED_EXITS_MAX }),
    }),
    Type.Object({ kind: Type.Literal('all') }),
    Type.Object({ kind: Type.Literal('faulty'), fault: Type.Enum(['malformed', 'too_many_validators']) }),
  ]),
  /** Of the validators that were created here for this address: the first final block with their own deposit. */
  deposits: Type.Array(Type.Object({ pubkey: Pubkey, blockNumber: UInt }), { maxItems: CALL_DEPOSITS_MAX }),
})
export type TakenCall = Static<typeof TakenCall>

const TakeExitCallsInput = Type.Object({
  chain: Chain,
  /** Configured for the chain. */
  contract: Address,
  calls: Type.Array(TakenCall, { maxItems: CALLS_TAKEN_MAX }),
})
export type TakeExitCallsInput = Static<typeof TakeExitCallsInput>

/**
 * Final calls to the exit-request contract of which the tables know no end. It is asked for as long as there are any, so nothing is lost
 * with a queue.
 */
export const takeExitCalls = job('take-exit-calls', TakeExitCallsInput, ({ chain }) => chain)
