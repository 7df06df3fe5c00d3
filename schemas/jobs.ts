import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { AppError } from './errors.ts'
import { ACCOUNT_PATTERN } from './events/accounts.ts'
import { CREATED_MAX } from './events/created-validators.ts'
import { Address, Chain, UInt } from './events/fields.ts'

/** A kind of work in the job queue: its name, and the shape of what it is told. */
export interface Job<Input> {
  readonly name: string
  /** One id is one piece of work: asked for twice, it is done once. Ids hold no colon, which the queue uses itself. */
  idOf(input: Input): string
  /** Checks what the queue hands out: throws AppError `job_queue` for an input of another shape. */
  parse(input: unknown): Input
}

function job<Schema extends TSchema>(
  name: string,
  schema: Schema,
  idOf: (input: Static<Schema>) => string,
): Job<Static<Schema>> {
  const shape = Compile(schema)
  return {
    name,
    idOf,
    parse(input) {
      if (!shape.Check(input)) throw new AppError('job_queue', `the input of a job ${name} does not have its shape`)
      return input as Static<Schema>
    },
  }
}

const DeriveDayInput = Type.Object({ chain: Chain, /** UTC+8 day number. */ day: UInt })
export type DeriveDayInput = Static<typeof DeriveDayInput>

/** Settles the finalized blocks of a day, and closes the day when all of it is there. */
export const deriveDay = {
  ...job('derive-day', DeriveDayInput, ({ chain, day }) => `${chain}/${day}`),
  /** What the ids of a chain's days begin with, and no other's. */
  idPrefixOf: (chain: string): string => `${chain}/`,
}

const SettleAccountInput = Type.Object({ account: Type.String() })
export type SettleAccountInput = Static<typeof SettleAccountInput>

/** Settles every finalized block of an account's validators again: its validators or its fee rates have changed. */
export const settleAccount = job('settle-account', SettleAccountInput, ({ account }) => account)

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
  /** Unix milliseconds: nobody waits for the answer any more. */
  notAfterMs: UInt,
})
export type CreateValidatorsInput = Static<typeof CreateValidatorsInput>

/** Makes keys for validators, seals them, and says what is to be signed. The id is made for each asking: the vault knows requests. */
export const createValidators = job('create-validators', CreateValidatorsInput, ({ requestId }) => requestId)

/** What became of it: an expected end is an output, because a job that fails is tried again. */
const CreateValidatorsOutput = Type.Union([
  /** `answer`: JSON text of the data that is answered. */
  Type.Object({ status: Type.Literal('created'), answer: Type.String() }),
  /** Nothing was made; the sentence is for who has asked. */
  Type.Object({ status: Type.Literal('refused'), reason: Type.String() }),
  /** Nothing was made: no node or vault answered, or it was too late. */
  Type.Object({ status: Type.Literal('unavailable') }),
])
export type CreateValidatorsOutput = Static<typeof CreateValidatorsOutput>
const isCreateOutput = Compile(CreateValidatorsOutput)

/** Checks what the queue hands back: throws AppError `job_queue` for an output of another shape. */
export function parseCreateOutput(output: unknown): CreateValidatorsOutput {
  if (!isCreateOutput.Check(output))
    throw new AppError('job_queue', 'the output of create-validators has another shape')
  return output
}
