import { type Static, Type } from 'typebox'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent } from './codec.ts'
import { Chain, Pubkey } from './fields.ts'

/** Keys of one event: 100 kB. */
export const VAULT_KEYS_MAX = 1_000

const VaultKeys = Type.Object({
  chain: Chain,
  /** Whose they are. */
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: VAULT_KEYS_MAX }),
})
export type VaultKeys = Static<typeof VaultKeys>

/**
 * Keystores of these keys were handed to the operator: another program may run them from here on. Key: `ACCOUNTS_KEY`; id
 * `account.keys-exported:<chain>:<account>:<first pubkey>:<time>`; its time is that of the export, of which a key may have several.
 */
export const keysExported = jsonEvent({ name: 'account.keys-exported', version: 1, topic: 'accounts' }, VaultKeys)

/**
 * Keys that were made elsewhere are in the vault. Key: `ACCOUNTS_KEY`; id `account.keys-imported:<chain>:<account>:<first pubkey>`; its
 * time is that of the import.
 */
export const keysImported = jsonEvent({ name: 'account.keys-imported', version: 1, topic: 'accounts' }, VaultKeys)

const ClientKeys = Type.Object({
  ...VaultKeys.properties,
  /** Tells a validator client from another one, and nobody its address. */
  client: Type.String({ pattern: '^[0-9a-f]{64}$' }),
})
export type ClientKeys = Static<typeof ClientKeys>

/**
 * These keys are for this validator client, for ever: told before it gets a keystore of them, and of a key once. Key: `ACCOUNTS_KEY`; id
 * `account.keys-assigned:<chain>:<first pubkey>`.
 */
export const keysAssigned = jsonEvent({ name: 'account.keys-assigned', version: 1, topic: 'accounts' }, ClientKeys)

/**
 * The client that they are for has these keys and their fee recipients: it is given them no more, whatever becomes of them there. Key:
 * `ACCOUNTS_KEY`; id `account.keys-taken:<chain>:<first pubkey>`.
 */
export const keysTaken = jsonEvent({ name: 'account.keys-taken', version: 1, topic: 'accounts' }, ClientKeys)
