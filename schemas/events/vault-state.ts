import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Instant, Pubkey, UInt } from './fields.ts'

/** Validators that a word about the vault names; of the others it says how many. */
export const MISSING_NAMED_MAX = 100

const VaultState = Type.Object({
  /** `stopped`: by whoever runs it, and so not missed. */
  state: Type.Enum(['answering', 'away', 'stopped']),
  since: Instant,
  /** What is wrong, in one sentence; empty where nothing is. */
  fault: Type.String(),
  /** Validators of the log whose secret it lacks. */
  missing: Type.Object({ count: UInt, pubkeys: Type.Array(Pubkey, { maxItems: MISSING_NAMED_MAX }) }),
})
export type VaultState = Static<typeof VaultState>

/** Key of all words about the vault: only the newest counts. */
export const VAULT_KEY = 'key vault'

/**
 * How the key vault is, told by the process that has it when that changes, and every minute: so that others know, and miss it when it is
 * silent. Id `vault.state:<time>`; its time is that of the word, by that process's clock.
 */
export const vaultStateTold = jsonEvent({ name: 'vault.state', version: 1, topic: 'roles' }, VaultState)
