import { type Static, Type } from 'typebox'
import { ACCOUNT_PATTERN } from './accounts.ts'
import { jsonEvent } from './codec.ts'
import { Chain, Pubkey } from './fields.ts'

/** Validators of one event: 50 kB. */
export const PRESIGNED_MAX = 500

const ExitsPresigned = Type.Object({
  chain: Chain,
  /** Whose validators they were that day. */
  account: Type.String({ pattern: ACCOUNT_PATTERN }),
  /** What they were encrypted to: thumbprint of the public key (RFC 7638, SHA-256), base64url. */
  recipient: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
  pubkeys: Type.Array(Pubkey, { minItems: 1, maxItems: PRESIGNED_MAX }),
})
export type ExitsPresigned = Static<typeof ExitsPresigned>

/**
 * Signed exits of these validators were handed to the operator, encrypted: whoever has the recipient's key may let them exit from here
 * on, whenever he wants. Key: `ACCOUNTS_KEY`; id `account.exits-presigned:<chain>:<random id>`.
 */
export const exitsPresigned = jsonEvent(
  { name: 'account.exits-presigned', version: 1, topic: 'accounts' },
  ExitsPresigned,
)
