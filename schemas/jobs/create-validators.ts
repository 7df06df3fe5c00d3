import { type Static, Type } from 'typebox'
import { ACCOUNT_PATTERN } from '../events/accounts.ts'
import { CREATED_MAX } from '../events/created-validators.ts'
import { Address, Chain, UInt } from '../events/fields.ts'
import { answeringJob } from './job.ts'

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

const CreateValidatorsInput = Type.Object({
  chain: Chain,
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  /** Of two requests of an account with one id, the second is answered as the first was. */
  requestId: Sha256,
  /** Of everything that was asked for. */
  bodyHash: Sha256,
  count: Type.Integer({ minimum: 1, maximum: CREATED_MAX }),
  withdrawalAddress: Address,
  depositFrom: Address,
  feeRecipient: Address,
  /** Unix milliseconds on the machine of who asks, not on the chain: nobody waits for the answer any more. */
  notAfterMs: UInt,
})
export type CreateValidatorsInput = Static<typeof CreateValidatorsInput>

const CreateValidatorsOutput = Type.Union([
  /** `answer`: JSON text of the data that is answered. */
  Type.Object({ status: Type.Literal('created'), answer: Type.String() }),
  /** Nothing was made; the sentence is for who has asked. */
  Type.Object({ status: Type.Literal('refused'), reason: Type.String() }),
  /** Nothing was made: no node or vault answered, or it was too late. */
  Type.Object({ status: Type.Literal('unavailable') }),
])
export type CreateValidatorsOutput = Static<typeof CreateValidatorsOutput>

/** Makes keys for validators, seals them, and says what is to be signed. The id is made for each asking: the vault knows requests. */
export const createValidators = answeringJob(
  'create-validators',
  { input: CreateValidatorsInput, output: CreateValidatorsOutput },
  ({ requestId }) => requestId,
)
