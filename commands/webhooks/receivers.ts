import type { KeySource } from '../../infra/key-vault/key-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { readWebhookKeys, type WebhookKeys } from '../../infra/webhook-keys.ts'
import type { AccountsOnLog } from '../../processors/webhooks/accounts-on-log.ts'
import type { Delivering, Receiver } from '../../processors/webhooks/deliver.ts'
import { AppError } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'

/** After so long a key that was not there, or not the right one, is read again: a command for it keeps the whole process waiting. */
export const KEY_AGAIN_MS = 60_000

export interface Receivers {
  readonly accounts: AccountsOnLog
  readonly source: KeySource
  readonly log: Pick<Log, 'error'>
  /** Milliseconds of a clock that only goes on. */
  readonly now: () => number
}

interface KeyRead {
  readonly atMs: number
  readonly outcome:
    | { readonly status: 'read'; readonly keys: WebhookKeys }
    | { readonly status: 'none'; readonly error: AppError }
}

/**
 * Where webhooks lead and what they are signed with: the key is read when the first of them is told something. That one cannot be opened
 * is told the operator once, until it can.
 */
export function receiversOf({ accounts, source, log, now }: Receivers): Delivering['receiverOf'] {
  let last: KeyRead | undefined
  /** Whether a webhook cannot be opened with what was read. */
  let isWanting = false
  const opened = new Map<string, Receiver>()
  const told = new Set<string>()
  const keysNow = (): WebhookKeys => {
    if (last === undefined || (isWanting && now() - last.atMs >= KEY_AGAIN_MS)) {
      last = { outcome: readKeys(source), atMs: now() }
      isWanting = false
    }
    if (last.outcome.status === 'none') throw last.outcome.error
    return last.outcome.keys
  }
  return (webhookId) => {
    const known = opened.get(webhookId)
    if (known !== undefined) return known
    const created = accounts.book.webhooks().get(webhookId)
    if (created === undefined) throw new Error('a webhook is told that the log does not have')
    try {
      const keys = keysNow()
      const receiver = { url: keys.openUrl(webhookId, bytesOf(created.sealedUrl)), secret: keys.secretOf(webhookId) }
      opened.set(webhookId, receiver)
      told.delete(webhookId)
      return receiver
    } catch (error) {
      if (error instanceof AppError && !told.has(webhookId)) {
        told.add(webhookId)
        log.error({ webhook: webhookId, reason: error.message }, 'a webhook cannot be told')
      }
      isWanting = true // it may be put back
      throw error
    }
  }
}

function readKeys(source: KeySource): KeyRead['outcome'] {
  try {
    return { status: 'read', keys: readWebhookKeys(source, false) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { status: 'none', error }
  }
}
