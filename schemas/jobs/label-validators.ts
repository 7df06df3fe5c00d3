import { type Static, Type } from 'typebox'
import { ACCOUNT_PATTERN } from '../events/accounts.ts'
import { Chain, Pubkey, UInt } from '../events/fields.ts'
import { LABEL_PATTERN, LABELLED_MAX } from '../validator-label.ts'
import { answeringJob } from './job.ts'

const LabelValidatorsInput = Type.Object({
  /** Of this asking: done twice, it is told the log under one id. */
  requestId: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
  chain: Chain,
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  labels: Type.Array(
    Type.Object({
      pubkey: Pubkey,
      label: Type.String({ pattern: LABEL_PATTERN }),
      /** Whether the tables have it among the account's: what was created a moment ago they may not have yet. */
      isSeen: Type.Boolean(),
    }),
    { minItems: 1, maxItems: LABELLED_MAX },
  ),
  /** Unix milliseconds on the machine of who asks, not on the chain: nobody waits for the answer any more. */
  notAfterMs: UInt,
})
export type LabelValidatorsInput = Static<typeof LabelValidatorsInput>

const LabelValidatorsOutput = Type.Union([
  Type.Object({ status: Type.Literal('labelled') }),
  /** Nothing was: the key is none of the account's. */
  Type.Object({ status: Type.Literal('foreign'), pubkey: Pubkey }),
  Type.Object({ status: Type.Literal('late') }),
])
export type LabelValidatorsOutput = Static<typeof LabelValidatorsOutput>

/** Tells the log what an account calls its validators: all of the list or nothing. */
export const labelValidators = answeringJob(
  'label-validators',
  { input: LabelValidatorsInput, output: LabelValidatorsOutput },
  ({ requestId }) => requestId,
)
