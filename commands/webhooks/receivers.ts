import type { KeySource } from '../../infra/key-vault/key-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { readWebhookKeys, type WebhookKeys } from '../../infra/webhook-keys.ts'
import type { AccountsOnLog } from '../../processors/webhooks/accounts-on-log.ts'
import type { Delivering, Receiver } from '../../processors/webhooks/deliver.ts'
import { AppError } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'

/**
 * Where webhooks lead and what they are signed with: the key is read when the first of them is told something. That one cannot be opened
 * is told the operator once, until it can.
 */
export function receiversOf(accounts: AccountsOnLog, source: KeySource, log: Log): Delivering['receiverOf'] {
  let keys: WebhookKeys | undefined
  const opened = new Map<string, Receiver>()
  const told = new Set<string>()
  return (webhookId) => {
    const known = opened.get(webhookId)
    if (known !== undefined) return known
    const created = accounts.book.webhooks().get(webhookId)
    if (created === undefined) throw new Error('a webhook is told that the log does not have')
    try {
      keys ??= readWebhookKeys(source, false)
      const receiver = { url: keys.openUrl(webhookId, bytesOf(created.sealedUrl)), secret: keys.secretOf(webhookId) }
      opened.set(webhookId, receiver)
      told.delete(webhookId)
      return receiver
    } catch (error) {
      if (error instanceof AppError && !told.has(webhookId)) {
        told.add(webhookId)
        log.error({ webhook: webhookId, reason: error.message }, 'a webhook cannot be told')
      }
      keys = undefined // it may be put back
      throw error
    }
  }
}
