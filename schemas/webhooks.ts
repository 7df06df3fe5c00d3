import { createHash, createHmac } from 'node:crypto'

/** What a webhook may tell of. */
export const WEBHOOK_KINDS = ['validator.status', 'validator.exit', 'day.closed'] as const
export type WebhookKind = (typeof WEBHOOK_KINDS)[number]

/** Of 16 random bytes. */
export const WEBHOOK_ID_PATTERN = '^wh_[0-9a-f]{32}$'

/** Begins every secret as the Standard Webhooks specification writes them: base64 follows. */
const SECRET_PREFIX = 'whsec_'
const MESSAGE_ID_CHARACTERS = 32

/** The secret as a receiver's library takes it. */
export function formatWebhookSecret(secret: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(secret).toString('base64')
}

/** Names a delivery, however often it is tried: receivers tell by it what they have had. */
export function messageId(webhookId: string, noticeId: string): string {
  const digest = createHash('sha256').update(`${webhookId} ${noticeId}`).digest('hex')
  return `msg_${digest.slice(0, MESSAGE_ID_CHARACTERS)}`
}

export interface UnsignedMessage {
  readonly id: string
  /** Unix seconds of this attempt: receivers refuse old ones, so that nobody can send them again. */
  readonly timestampSec: number
  readonly body: string
}

/**
 * Headers by which a receiver knows whose message it is: HMAC-SHA-256 over `<id>.<timestamp>.<body>`, as the Standard Webhooks
 * specification has it (standard-webhooks/standard-webhooks, spec/standard-webhooks.md, "Signature scheme").
 */
export function signedHeaders(
  secret: Uint8Array,
  { id, timestampSec, body }: UnsignedMessage,
): Readonly<Record<string, string>> {
  const signature = createHmac('sha256', secret).update(`${id}.${timestampSec}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': String(timestampSec), 'webhook-signature': `v1,${signature}` }
}
