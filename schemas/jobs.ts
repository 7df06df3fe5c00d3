import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/schema'
import { AppError } from './errors.ts'
import { Chain, UInt } from './events/fields.ts'

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
