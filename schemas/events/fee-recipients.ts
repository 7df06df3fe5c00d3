import { type Static, Type } from 'typebox'
import { jsonEvent, olderJson } from './codec.ts'
import { Address, Chain, Day, Pubkey } from './fields.ts'

const ForAllHistory = Type.Object({
  chain: Chain,
  recipients: Type.Array(Type.Object({ pubkey: Pubkey, address: Address })),
  /** False takes an address back that was told before. */
  isOwn: Type.Boolean(),
})
const FeeRecipientsTold = Type.Object({
  ...ForAllHistory.properties,
  /** First UTC+8 day; absent: the start of all history. */
  from: Type.Optional(Day),
})
export type FeeRecipientsTold = Static<typeof FeeRecipientsTold>

/**
 * The operator says at which addresses validators are paid for blocks, from a day on: until the next day that a fact names for the
 * same validator and address. An address that is told adds to the others. Key: `ACCOUNTS_KEY`; id
 * `validator.fee-recipients-told:<chain>:<first pubkey>:<first address>:<count>:<time>[:<from>]`.
 */
export const feeRecipientsTold = jsonEvent(
  { name: 'validator.fee-recipients-told', version: 2, topic: 'accounts' },
  FeeRecipientsTold,
  { 1: olderJson(ForAllHistory, (data) => data) },
)
