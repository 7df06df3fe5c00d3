import type { EventLog, EventWriter } from '../../infra/ports/event-log.ts'
import { decodeEvent, type EncodedEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import {
  type ClosedSpan,
  type Noticed,
  type WebhookFollowed,
  type WebhookNoticed,
  webhookBegan,
  webhookDelivered,
  webhookEnded,
  webhookFollowed,
  webhookGivenUp,
  webhookNoticed,
} from '../../schemas/events/webhooks.ts'
import type { WebhookKind } from '../../schemas/webhooks.ts'

/** Something that happened, as it is told. */
export interface Notice {
  readonly id: string
  /** When it was noticed: Unix milliseconds. */
  readonly atMs: number
  readonly account: string
  readonly chain: string
  readonly what: Noticed
}

/** What is known of a validator, and how many notices told of its status. */
export interface KnownStatus {
  readonly status: string
  readonly notices: number
}

/** What is known of an account's validators on a chain: what differs from it is news. */
export interface Followed {
  /** Newest final epoch that was seen; undefined before the first. What is older than it tells nothing. */
  epoch: number | undefined
  /** Days that were closed when it began. */
  readonly closed: readonly ClosedSpan[]
  /** `YYYY-MM-DD`: days that were told. */
  readonly days: Set<string>
  readonly statuses: Map<string, KnownStatus>
  /** Offset in `accounts`: what is before it was before it began. */
  readonly since: bigint
  /** The newest fact of exits that was told, and the public keys of which it was. */
  exits: { readonly offset: bigint; readonly pubkeys: Set<string> } | undefined
  /** False while events of its beginning are missing. */
  isWhole: boolean
}

/** Whether a fact of a validator's exit, by its offset in `accounts`, was not told and has to be. */
export function isExitNews({ since, exits }: Followed, offset: bigint, pubkey: string): boolean {
  if (offset < since) return false
  if (exits === undefined || offset > exits.offset) return true
  return offset === exits.offset && !exits.pubkeys.has(pubkey)
}

/** A webhook that is told of what happens. */
export interface Telling {
  readonly webhookId: string
  readonly account: string
  readonly kinds: readonly WebhookKind[]
  /** In the order in which they were noticed, by their ids. */
  readonly waiting: Map<string, Notice>
  /** Of whom the last attempt was not taken, the longest ago first; only in memory: after a start all are tried as they come. */
  readonly refused: Set<string>
  delivered: number
  givenUp: number
  lastFailure: string | undefined
}

/** What the topic `webhooks` says, in the memory of the role that alone says it. */
export class WebhookBook {
  readonly #followed = new Map<string, Map<string, Followed>>()
  readonly #tellings = new Map<string, Telling>()

  /** Tells the log, then remembers. */
  async tell(writer: EventWriter, events: readonly EncodedEvent[]): Promise<void> {
    if (events.length === 0) return
    await writer.append('webhooks', events)
    for (const event of events) this.add(event)
  }

  /** Throws AppError `undecodable` for an event that is not what its type says. Of one account they have to come in the order of the log. */
  add(event: EncodedEvent): void {
    switch (event.type) {
      case webhookFollowed.name:
        this.#follow(decodeEvent(webhookFollowed, event))
        return
      case webhookBegan.name: {
        const { account, webhookId, kinds } = decodeEvent(webhookBegan, event)
        const nothing = { delivered: 0, givenUp: 0, lastFailure: undefined }
        if (!this.#tellings.has(webhookId))
          this.#tellings.set(webhookId, {
            webhookId,
            account,
            kinds,
            waiting: new Map(),
            refused: new Set(),
            ...nothing,
          })
        return
      }
      case webhookEnded.name: {
        const { account, webhookId } = decodeEvent(webhookEnded, event)
        this.#tellings.delete(webhookId)
        // Whoever begins again later is not told what happened in between.
        if (this.tellingsOf(account).length === 0) this.#followed.delete(account)
        return
      }
      case webhookNoticed.name:
        this.#notice(event.id, Date.parse(event.time), decodeEvent(webhookNoticed, event))
        return
      case webhookDelivered.name: {
        const { webhookId, notice } = decodeEvent(webhookDelivered, event)
        const telling = this.#tellings.get(webhookId)
        if (telling?.waiting.delete(notice) === true) telling.delivered++
        return
      }
      case webhookGivenUp.name: {
        const { webhookId, notices, reason } = decodeEvent(webhookGivenUp, event)
        const telling = this.#tellings.get(webhookId)
        if (telling === undefined) return
        for (const notice of notices) if (telling.waiting.delete(notice)) telling.givenUp++
        telling.lastFailure = reason
      }
    }
  }

  of(webhookId: string): Telling | undefined {
    return this.#tellings.get(webhookId)
  }

  tellings(): readonly Telling[] {
    return [...this.#tellings.values()]
  }

  tellingsOf(account: string): readonly Telling[] {
    return this.tellings().filter((one) => one.account === account)
  }

  /** Undefined where nothing is known yet, or not all of it. */
  followed(account: string, chain: string): Followed | undefined {
    const followed = this.#followed.get(account)?.get(chain)
    return followed?.isWhole === true ? followed : undefined
  }

  #follow({ account, chain, epoch, closed, accountsNext, statuses, number, isLast }: WebhookFollowed): void {
    const ofAccount = this.#followed.get(account) ?? new Map<string, Followed>()
    this.#followed.set(account, ofAccount)
    const before = number === 0 ? undefined : ofAccount.get(chain)
    const followed: Followed = before ?? {
      epoch: epoch ?? undefined,
      closed,
      days: new Set(),
      statuses: new Map(),
      since: BigInt(accountsNext),
      exits: undefined,
      isWhole: false,
    }
    for (const { pubkey, status } of statuses) followed.statuses.set(pubkey, { status, notices: 0 })
    followed.isWhole = isLast
    ofAccount.set(chain, followed)
  }

  #notice(id: string, atMs: number, { account, chain, what }: WebhookNoticed): void {
    const followed = this.#followed.get(account)?.get(chain)
    if (followed === undefined || !remember(followed, what)) return
    for (const telling of this.tellingsOf(account))
      if (telling.kinds.includes(what.kind)) telling.waiting.set(id, { id, atMs, account, chain, what })
  }
}

/** False for what is known: an event may be in the log twice. */
function remember(followed: Followed, what: Noticed): boolean {
  switch (what.kind) {
    case 'validator.status': {
      const { pubkey, status, number, epoch } = what
      if (number <= (followed.statuses.get(pubkey)?.notices ?? 0)) return false
      if (epoch !== null) followed.epoch = Math.max(followed.epoch ?? 0, epoch)
      followed.statuses.set(pubkey, { status, notices: number })
      return true
    }
    case 'validator.exit': {
      const offset = BigInt(what.offset)
      if (!isExitNews(followed, offset, what.pubkey)) return false
      if (followed.exits?.offset !== offset) followed.exits = { offset, pubkeys: new Set() }
      followed.exits.pubkeys.add(what.pubkey)
      return true
    }
    case 'day.closed': {
      if (followed.days.has(what.day)) return false
      followed.days.add(what.day)
      return true
    }
  }
}

/**
 * Reads the book from the log: to write it, the lease is needed before. What cannot be read is passed over: at worst something is told once
 * more under the same id, or an account is followed anew; what was revoked is ended again, as `accounts` says it.
 */
export async function readWebhookBook(eventLog: EventLog, signal: AbortSignal): Promise<WebhookBook> {
  const book = new WebhookBook()
  for await (const { event } of eventLog.read({ topic: 'webhooks', signal })) unlessUndecodable(() => book.add(event))
  return book
}
