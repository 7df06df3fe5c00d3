import { hkdfSync } from 'node:crypto'
import { AppError } from '../schemas/errors.ts'
import { type KeySource, nameOfSource, readSealingKey } from './key-vault/key-source.ts'
import { SEALING_KEY_BYTES, seal, unseal } from './key-vault/sealing.ts'

/** HMAC-SHA-256 has keys of its block's length at most; the Standard Webhooks specification wants 24 to 64 bytes. */
const SECRET_BYTES = 32

/**
 * What webhooks are signed with. No secret is kept: each follows from the key of the configuration and the webhook's id, with HKDF
 * (RFC 5869), and so does the key that its address is sealed with.
 */
export interface WebhookKeys {
  secretOf(webhookId: string): Uint8Array
  sealUrl(webhookId: string, url: string): Uint8Array
  /** Throws AppError `webhook` when the key is not the one that it was sealed with. */
  openUrl(webhookId: string, sealed: Uint8Array): string
}

/** `isFirst`: there is no webhook yet, so a missing file may be made. Throws AppError `usage` when there is no key. */
export function readWebhookKeys(source: KeySource, isFirst: boolean): WebhookKeys {
  const key = readSealingKey(source, isFirst, 'webhook')
  const derive = (webhookId: string, what: string, bytes: number): Uint8Array =>
    new Uint8Array(hkdfSync('sha256', key, webhookId, `epochline webhook ${what}`, bytes))
  const sealingKeyOf = (webhookId: string) => derive(webhookId, 'address', SEALING_KEY_BYTES)
  return {
    secretOf: (webhookId) => derive(webhookId, 'signature', SECRET_BYTES),
    sealUrl: (webhookId, url) => seal(sealingKeyOf(webhookId), Buffer.from(url), contextOf(webhookId)),
    openUrl(webhookId, sealed) {
      const url = unseal(sealingKeyOf(webhookId), sealed, contextOf(webhookId))
      if (url !== undefined) return url.toString()
      throw new AppError(
        'webhook',
        `The key in ${nameOfSource(source)} is not the one that the webhook was made with: put that one back, or revoke the webhook and make another.`,
        { retryable: true },
      )
    },
  }
}

function contextOf(webhookId: string): string {
  return `webhook ${webhookId}`
}
