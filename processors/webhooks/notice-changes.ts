import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import type { AccountsOnLog, ExitNews } from './accounts-on-log.ts'
import { type StatusSince, statusesToTell } from './decide-statuses.ts'
import { beganEvent, endedEvent, followedEvents, noticeEvent } from './notice-events.ts'
import { passedStatuses } from './passed-statuses.ts'
import { type Followed, isExitNews, type WebhookBook } from './webhook-book.ts'

/** How an account's validators on a chain stand by the tables. */
export interface AccountStanding {
  /** Newest final epoch; undefined before the first. */
  readonly epoch: number | undefined
  /** The chain's, `YYYY-MM-DD`, ascending. */
  readonly closedDays: readonly string[]
  /** Those of them on which it had a validator. */
  readonly ownDays: ReadonlySet<string>
  /** Those that are its own; an index where the registry has a state of it. */
  readonly validators: readonly {
    readonly pubkey: string
    readonly status: string
    readonly index: number | undefined
  }[]
}

export interface Noticing {
  readonly book: WebhookBook
  readonly writer: EventWriter
  readonly accounts: AccountsOnLog
  readonly warehouse: WarehouseReader
  /** Names of the chains that have validators. */
  readonly chains: () => readonly string[]
  /** The same object for as long as nothing has changed; undefined where the tables cannot tell now. */
  readonly look: (account: string, chain: string) => Promise<AccountStanding | undefined>
  /** Unix milliseconds. */
  readonly now: () => number
}

/** Events of one append: each is a write of less than a kB. */
const EVENTS_PER_APPEND_MAX = 500

/**
 * Compares what is known of the validators of accounts that have webhooks with what the tables and the log say now, and tells the log
 * what is new. What was told is known from then on, and from the log after a restart: so nothing is told twice, and what was not told
 * before a kill is told after it.
 */
export class Noticer {
  readonly #parts: Noticing
  readonly #seen = new Map<string, AccountStanding>()
  /** Read, and not told yet. */
  #exits: ExitNews[] = []

  constructor(parts: Noticing) {
    this.#parts = parts
  }

  async look(): Promise<void> {
    const { book, accounts, chains } = this.#parts
    await accounts.readOn()
    // One by one: at the start these are all steps that there ever were, more than a call takes as arguments.
    for (const exit of accounts.takeNews()) this.#exits.push(exit)
    await this.#endRevoked()
    await this.#tellExits()
    for (const account of new Set(book.tellings().map((telling) => telling.account)))
      for (const chain of chains()) await this.#lookAt(account, chain)
    await this.#beginNew()
  }

  async #endRevoked(): Promise<void> {
    const { book, accounts, now } = this.#parts
    const facts = accounts.book.webhooks()
    const revoked = book.tellings().filter(({ webhookId }) => facts.get(webhookId)?.revokedAt !== undefined)
    await this.#tell(revoked.map((telling) => endedEvent(telling, now())))
  }

  async #tellExits(): Promise<void> {
    const { book, now } = this.#parts
    const events = this.#exits.flatMap(({ account, chain, offset, step }) => {
      const followed = book.followed(account, chain)
      if (followed === undefined || !isExitNews(followed, offset, step.pubkey)) return []
      return [
        noticeEvent({ account, chain, followed }, { kind: 'validator.exit', ...step, offset: `${offset}` }, now()),
      ]
    })
    await this.#tell(events)
    this.#exits = []
  }

  /** Tells of new statuses and closed days; of a chain that the account is not followed on yet it only notes how it stands. */
  async #lookAt(account: string, chain: string): Promise<void> {
    const { book, look, now } = this.#parts
    const standing = await look(account, chain)
    const key = `${account}:${chain}`
    if (standing === undefined || this.#seen.get(key) === standing) return
    const followed = book.followed(account, chain)
    if (followed === undefined) await this.#follow(account, chain, standing)
    else {
      // Tables that are being filled are behind what is known.
      if ((standing.epoch ?? -1) < (followed.epoch ?? -1)) return
      const of = { account, chain, followed }
      const statuses = await this.#statuses(chain, followed, standing)
      const days = newDays(followed, standing)
      await this.#tell([
        ...statuses.map((what) => noticeEvent(of, { kind: 'validator.status', ...what }, now())),
        ...days.map((day) => noticeEvent(of, { kind: 'day.closed', day }, now())),
      ])
      followed.epoch = standing.epoch
    }
    this.#seen.set(key, standing)
  }

  async #statuses(chain: string, followed: Followed, { epoch, validators }: AccountStanding) {
    const changed = validators.filter(({ pubkey, status }) => followed.statuses.get(pubkey)?.status !== status)
    const indices = changed.flatMap(({ index, pubkey }) =>
      index === undefined || !followed.statuses.has(pubkey) ? [] : [index],
    )
    const span = { chain, from: (followed.epoch ?? -1) + 1, to: epoch ?? 0 }
    const passed =
      epoch === undefined || indices.length === 0
        ? new Map<number, readonly StatusSince[]>()
        : await passedStatuses(this.#parts.warehouse, span, indices)
    const changes = changed.flatMap(({ pubkey, status, index }) => {
      const known = followed.statuses.get(pubkey)
      const now = { status, epoch: index === undefined ? null : (epoch ?? null) }
      const steps = statusesToTell(known?.status, now, index === undefined ? [] : (passed.get(index) ?? []))
      return steps.map((step, at) => ({
        pubkey,
        number: (known?.notices ?? 0) + at + 1,
        previous: steps[at - 1]?.status ?? known?.status ?? null,
        ...step,
      }))
    })
    // In the order of the chain, validators between each other as well.
    return changes.toSorted((a, b) => (a.epoch ?? -1) - (b.epoch ?? -1))
  }

  async #beginNew(): Promise<void> {
    const { book, accounts, chains, look, now } = this.#parts
    for (const webhook of accounts.book.webhooks().values()) {
      if (webhook.revokedAt !== undefined || book.of(webhook.webhookId) !== undefined) continue
      let isFollowed = true
      for (const chain of chains()) {
        if (book.followed(webhook.account, chain) !== undefined) continue
        const standing = await look(webhook.account, chain)
        if (standing === undefined) isFollowed = false
        else await this.#follow(webhook.account, chain, standing)
      }
      if (isFollowed) await this.#tell([beganEvent(webhook, now())])
    }
  }

  async #follow(account: string, chain: string, standing: AccountStanding): Promise<void> {
    const { accounts, now } = this.#parts
    await this.#tell(followedEvents({ account, chain, accountsNext: accounts.next }, standing, now()))
    this.#seen.set(`${account}:${chain}`, standing)
  }

  async #tell(events: readonly EncodedEvent[]): Promise<void> {
    const { book, writer } = this.#parts
    for (let at = 0; at < events.length; at += EVENTS_PER_APPEND_MAX)
      await book.tell(writer, events.slice(at, at + EVENTS_PER_APPEND_MAX))
  }
}

/** Its own days that were not closed when it began and were not told, in whatever order they close: a backfill closes old ones. */
function newDays({ closed, days }: Followed, { closedDays, ownDays }: AccountStanding): readonly string[] {
  const wasClosed = (day: string) => closed.some(({ from, through }) => from <= day && day <= through)
  return closedDays.filter((day) => ownDays.has(day) && !days.has(day) && !wasClosed(day))
}
