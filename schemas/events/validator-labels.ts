import { type Static, Type } from 'typebox'
import { LABEL_PATTERN, LABELLED_MAX } from '../validator-label.ts'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent } from './codec.ts'
import { Chain, Pubkey } from './fields.ts'

const ValidatorLabelled = Type.Object({
  chain: Chain,
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  /** One for each public key; an empty label takes away what it had. */
  labels: Type.Array(Type.Object({ pubkey: Pubkey, label: Type.String({ pattern: LABEL_PATTERN }) }), {
    minItems: 1,
    maxItems: LABELLED_MAX,
  }),
})
export type ValidatorLabelled = Static<typeof ValidatorLabelled>

/**
 * What an account calls validators that it has or watches: its own words, which no other account is shown. The newest counts. Key:
 * `ACCOUNTS_KEY`; id `account.validator-labelled:<request id>`.
 */
export const validatorLabelled = jsonEvent(
  { name: 'account.validator-labelled', version: 1, topic: 'accounts' },
  ValidatorLabelled,
)
