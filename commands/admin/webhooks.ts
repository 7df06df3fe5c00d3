import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { hostOf, isAllowedServer } from '../../infra/guarded-fetch/named-server.ts'
import { isPublicAddress } from '../../infra/guarded-fetch/public-address.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { readWebhookKeys } from '../../infra/webhook-keys.ts'
import { readWebhookBook, type Telling } from '../../processors/webhooks/webhook-book.ts'
import type { AccountBook, WebhookFact } from '../../schemas/account-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { webhookCreated, webhookRevoked } from '../../schemas/events/webhooks.ts'
import { formatWebhookSecret, WEBHOOK_KINDS } from '../../schemas/webhooks.ts'
import type { Setting } from '../setting.ts'
import { addAccountFacts, checkedAccount, readBook } from './account-facts.ts'
import { checkedNames } from './checked-names.ts'
import { knownAccount } from './known-account.ts'

const ID_BYTES = 16
/** Each is told everything by itself, one message after the other. */
const WEBHOOKS_PER_ACCOUNT_MAX = 10
const URL_CHARACTERS_MAX = 2_048

interface WebhookOptions {
  readonly account: string
  readonly url: string
  readonly kind?: readonly string[]
}

/**
 * Makes a webhook of an account and prints its id and, this once, the secret that its messages are signed with. Throws AppError `usage`
 * for an address that is none which could be told.
 */
export async function createWebhook(setting: Setting, options: WebhookOptions): Promise<void> {
  const account = checkedAccount(options.account)
  const { keySource, allowedServer } = setting.config.webhooks
  const url = checkedUrl(options.url, allowedServer)
  const kinds = checkedNames(
    { option: '--kind', nothingDone: 'no webhook was created' },
    options.kind ?? WEBHOOK_KINDS,
    WEBHOOK_KINDS,
  )
  const webhookId = `wh_${randomBytes(ID_BYTES).toString('hex')}`
  await addAccountFacts(setting, (book, envelope) => {
    knownAccount(book, account)
    const all = [...book.webhooks().values()]
    const live = all.filter((one) => one.account === account && one.revokedAt === undefined)
    if (live.length >= WEBHOOKS_PER_ACCOUNT_MAX)
      throw new AppError(
        'usage',
        `${account} has ${live.length} webhooks, and that is all that an account may have: revoke one first.`,
      )
    const keys = readWebhookKeys(keySource, all.length === 0)
    const sealedUrl = hexOf(keys.sealUrl(webhookId, url.href))
    const data = { webhookId, account, kinds, origin: url.origin, sealedUrl }
    return {
      facts: [encodeEvent(webhookCreated, { ...envelope, id: `account.webhook-created:${webhookId}`, data })],
      said: `${webhookId}\n${formatWebhookSecret(keys.secretOf(webhookId))}\n`,
    }
  })
}

/** Throws AppError `usage` for what is no address of a public server with https. Names are looked up when they are told something. */
function checkedUrl(text: string, allowedServer: string | undefined): URL {
  const url = text.length > URL_CHARACTERS_MAX ? null : URL.parse(text)
  if (url !== null && url.username === '' && url.password === '') {
    const host = hostOf(url)
    const isHttp = url.protocol === 'https:' || url.protocol === 'http:'
    const isAllowed = isHttp && isAllowedServer(url, allowedServer)
    const isPublic = url.protocol === 'https:' && (isIP(host) === 0 || isPublicAddress(host))
    if (isAllowed || isPublic) return url
  }
  // Not repeated: it may hold a secret.
  throw new AppError(
    'usage',
    `--url is not an https address of a public server, without a user, of at most ${URL_CHARACTERS_MAX} characters: no webhook was created.`,
  )
}

/** Revokes a webhook: what still waits for it is not told. Throws AppError `usage` for an id that none has. */
export async function revokeWebhook(setting: Setting, webhookId: string): Promise<void> {
  await addAccountFacts(setting, (book, envelope) => {
    const known = book.webhooks().get(webhookId)
    if (known === undefined) throw new AppError('usage', 'There is no webhook with this id: nothing was revoked.')
    const id = `account.webhook-revoked:${webhookId}`
    return {
      facts: [encodeEvent(webhookRevoked, { ...envelope, id, data: { webhookId } })],
      said: `The webhook ${webhookId} of ${known.account} was revoked.\n`,
    }
  })
}

/** Prints a line for each webhook, of one account if it is given. */
export async function listWebhooks(setting: Setting, account: string | undefined): Promise<void> {
  const { config, log, signal, screen } = setting
  await using eventLog = await openEventLog(config, log)
  const book: AccountBook = await readBook(eventLog, signal)
  if (account !== undefined) knownAccount(book, checkedAccount(account))
  const told = await readWebhookBook(eventLog, signal)
  const lines = [...book.webhooks().values()]
    .filter((one) => account === undefined || one.account === account)
    .map((one) => webhookLine(one, told.of(one.webhookId)))
  screen.print(lines.length === 0 ? 'There are no webhooks.\n' : `${lines.join('\n')}\n`)
}

function webhookLine(
  { webhookId, account, origin, kinds, createdAt, revokedAt }: WebhookFact,
  telling?: Telling,
): string {
  const { delivered = 0, waiting, givenUp = 0 } = telling ?? {}
  return [
    webhookId,
    account,
    origin,
    `kinds ${kinds.join(',')}`,
    `created ${createdAt}${revokedAt === undefined ? '' : `, revoked ${revokedAt}`}`,
    ...(revokedAt === undefined ? [`${delivered} delivered, ${waiting?.size ?? 0} waiting, ${givenUp} given up`] : []),
  ].join('  ')
}
