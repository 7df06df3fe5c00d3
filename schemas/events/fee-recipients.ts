import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Address, Chain, Pubkey } from './fields.ts'

const FeeRecipientsTold = Type.Object({
  chain: Chain,
  recipients: Type.Array(Type.Object({ pubkey: Pubkey, address: Address })),
  /** False takes an address back that was told before. */
  isOwn: Type.Boolean(),
})
export type FeeRecipientsTold = Static<typeof FeeRecipientsTold>

/**
 * The operator says at which addresses validators are paid for blocks. An address that is told adds to those told before; it holds
 * for all of a chain's history. Key: `ACCOUNTS_KEY`; id `validator.fee-recipients-told:<chain>:<first pubkey>:<first address>:<count>:<time>`.
 */
export const feeRecipientsTold = jsonEvent(
  { name: 'validator.fee-recipients-told', version: 1, topic: 'accounts' },
  FeeRecipientsTold,
)
