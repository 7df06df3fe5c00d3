import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Address, Chain, Hash, IntegerText, Pubkey, UInt } from './fields.ts'

/** A balance before a block and after it, and what the block itself explains of the difference. */
const ExplainedBalance = Type.Object({
  beforeWei: IntegerText,
  afterWei: IntegerText,
  /** Credited from the beacon chain. */
  withdrawalsWei: IntegerText,
  /** By transactions to the address. */
  receivedWei: IntegerText,
  /** By its own transactions, with their fees. */
  spentWei: IntegerText,
  /** All tips of the block, where the address is the coinbase. */
  tipsWei: IntegerText,
})
export type ExplainedBalance = Static<typeof ExplainedBalance>

const BlockEvidence = Type.Object({
  chain: Chain,
  number: UInt,
  hash: Hash,
  /** Of the addresses that the proposer was known to be paid at, where a node told the balances and the block explains them. */
  balances: Type.Array(Type.Object({ address: Address, change: ExplainedBalance })),
  /** What relays say that the block paid. */
  claims: Type.Array(
    Type.Object({
      /** By its place in the configuration: its address may be a secret. */
      relay: Type.String(),
      valueWei: IntegerText,
      feeRecipient: Address,
      proposerPubkey: Pubkey,
      builderPubkey: Pubkey,
      slot: UInt,
    }),
  ),
})
export type BlockEvidence = Static<typeof BlockEvidence>

/**
 * What is known of the payment of a tracked proposer's block beyond its own bytes: the word of a node and of relays. Key: chain and hash,
 * as of the block; id `execution.block-evidence:<chain>:<hash>`, and with `:again:<n>` behind it what was told when it was asked for again the
 * nth time: beside what an earlier event says, not in its place.
 */
export const blockEvidence = jsonEvent(
  { name: 'execution.block-evidence', version: 1, topic: 'execution.blocks' },
  BlockEvidence,
)
