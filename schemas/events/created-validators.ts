import { type Static, Type } from 'typebox'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent, olderJson } from './codec.ts'
import { Address, Chain, Hash, IntegerText, Pubkey, UInt } from './fields.ts'

/** Validators that one request creates. */
export const CREATED_MAX = 100

const CreatedFields = {
  chain: Chain,
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  /** Names the request, per account: SHA-256, hex. */
  requestId: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: CREATED_MAX }),
  withdrawalCredentials: Hash,
  /** Who is to send the deposit. */
  depositFrom: Address,
  feeRecipient: Address,
  /** Of each deposit. */
  amountGwei: IntegerText,
}
const ValidatorsCreated = Type.Object({
  ...CreatedFields,
  /** Hash tree root of each public key's signed deposit, in their order: what tells it from a stranger's. Empty in version 1. */
  depositDataRoots: Type.Array(Hash, { maxItems: CREATED_MAX }),
  /** The slot that the chain was at: what they have time for is counted from it. Absent where no node told it, and in version 1. */
  createdAtSlot: Type.Optional(UInt),
})
export type ValidatorsCreated = Static<typeof ValidatorsCreated>

/**
 * Keys of validators were made for an account, and are sealed in the vault. They are the account's from the start of all history: nobody
 * knew them before. Key: `ACCOUNTS_KEY`; id `account.validators-created:<chain>:<account>:<first pubkey>`; its time is when they were made.
 */
export const validatorsCreated = jsonEvent(
  { name: 'account.validators-created', version: 2, topic: 'accounts' },
  ValidatorsCreated,
  { 1: olderJson(Type.Object(CreatedFields), (data) => ({ ...data, depositDataRoots: [] })) },
)
