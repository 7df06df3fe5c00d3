import { type Static, Type } from 'typebox'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent, olderJson } from './codec.ts'
import { Address, Bytes, Chain, Hash, Pubkey, UInt } from './fields.ts'

const Named = {
  chain: Chain,
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  txHash: Hash,
}

const StakingBroadcast = Type.Object({
  ...Named,
  sender: Address,
  nonce: UInt,
  pubkeys: Type.Array(Pubkey, { minItems: 1 }),
  /** What is sent, and sent again until it has ended. */
  rawTransaction: Bytes,
})
export type StakingBroadcast = Static<typeof StakingBroadcast>

/**
 * How a staking transaction ended:
 * `mined`: it succeeded in a final block, so its validators are deposited;
 * `failed`: it is in a final block and was reverted;
 * `replaced`: a final block has another transaction of the same sender and nonce;
 * `refused`: every node has said that it does not take it;
 * `unsent`: no node is known to have it, and not all could be asked;
 * `superseded`: validators of it are deposited for good by another transaction, and no node has it in a block.
 * After all but the first another transaction for the same validators may be broadcast, but for those that are deposited.
 */
export const STAKING_ENDS = ['mined', 'failed', 'replaced', 'refused', 'unsent', 'superseded'] as const
export type StakingEnd = (typeof STAKING_ENDS)[number]

const StakingEnded = Type.Object({
  ...Named,
  status: Type.Enum([...STAKING_ENDS]),
  /** Of the final block that it is in: of `mined` and `failed`. */
  blockNumber: Type.Optional(UInt),
  /** Of `superseded`: those of its validators that are deposited. */
  deposited: Type.Optional(Type.Array(Pubkey, { minItems: 1 })),
})
export type StakingEnded = Static<typeof StakingEnded>

/**
 * A signed staking transaction is going to be sent: told before any node gets it, so that a second one for the same validators is
 * refused. Key: `ACCOUNTS_KEY`; id `account.staking-broadcast:<chain>:<hash>:<attempt>`, of which there is another after an end that was
 * not `mined`.
 */
export const stakingBroadcast = jsonEvent(
  { name: 'account.staking-broadcast', version: 1, topic: 'accounts' },
  StakingBroadcast,
)

/** What became of it, once that cannot change any more. Key: `ACCOUNTS_KEY`; id `account.staking-ended:<chain>:<hash>:<attempt>`. */
export const stakingEnded = jsonEvent(
  { name: 'account.staking-ended', version: 2, topic: 'accounts' },
  StakingEnded,
  // It knew no `superseded`.
  { 1: olderJson(StakingEnded, (data) => data) },
)
