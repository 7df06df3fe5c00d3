import { type Static, Type } from 'typebox'
import { ACCOUNT_PATTERN } from '../events/accounts.ts'
import { EXITED_MAX } from '../events/exits.ts'
import { Chain, Pubkey, UInt } from '../events/fields.ts'
import { EXIT_FAULTS } from '../exit-reasons.ts'
import { answeringJob } from './job.ts'

/** So long who has asked waits; the job does nothing after that. */
export const EXIT_MS_MAX = 20_000

const ExitValidatorsInput = Type.Object({
  /** `cancel` takes back what was requested and is not signed. */
  kind: Type.Enum(['request', 'cancel']),
  chain: Chain,
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  /** Done again, it is the same request. */
  requestId: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
  /** Beginning of the hash of the token that asks. */
  actor: Type.String({ pattern: '^[0-9a-f]{1,64}$' }),
  pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: EXITED_MAX, uniqueItems: true }),
  /** Those of them that have a deposit on chain, as the tables tell it: the registry does not know it for days. */
  deposited: Type.Array(Pubkey, { maxItems: EXITED_MAX }),
  /** Unix milliseconds on the machine of who asks, not on the chain: nobody waits for the answer any more. `EXIT_MS_MAX` after it was asked for. */
  notAfterMs: UInt,
})
export type ExitValidatorsInput = Static<typeof ExitValidatorsInput>

const ExitValidatorsOutput = Type.Union([
  Type.Object({ status: Type.Literal('done') }),
  /** Nothing was done; `pubkey` is the first one that stands in its way. */
  Type.Object({ status: Type.Literal('refused'), fault: Type.Enum([...EXIT_FAULTS]), pubkey: Pubkey }),
  /** Nothing was done: no node or vault answered, or it was too late. */
  Type.Object({ status: Type.Literal('unavailable') }),
])
export type ExitValidatorsOutput = Static<typeof ExitValidatorsOutput>

/** Takes the request for exits, or its cancelling: what follows is done by the chain's epochs, not by jobs. */
export const exitValidators = answeringJob(
  'exit-validators',
  { input: ExitValidatorsInput, output: ExitValidatorsOutput },
  ({ requestId }) => requestId,
)
