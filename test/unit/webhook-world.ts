import type { EventLog, EventWriter } from '../../infra/ports/event-log.ts'
import type { PublicFetch, PublicRequest } from '../../infra/ports/public-fetch.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { AccountsOnLog } from '../../processors/webhooks/accounts-on-log.ts'
import { deliverWaiting } from '../../processors/webhooks/deliver.ts'
import { type AccountStanding, Noticer } from '../../processors/webhooks/notice-changes.ts'
import { readWebhookBook } from '../../processors/webhooks/webhook-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'

export const WORLD_CHAIN = 'mainnet'
const FIRST_MS = Date.parse('2026-11-22T00:00:00.000Z')
const never = new AbortController().signal

/** What a process dies of. */
export class Killed extends Error {}

export interface Told {
  readonly webhook: string
  readonly id: string
  readonly body: { readonly type: string; readonly data: Record<string, unknown> }
}

/** Everything of the role that tells webhooks but its tables and receivers; its memory goes with every `start`. */
export class WebhookWorld {
  readonly #eventLog: EventLog
  /** By account. */
  readonly standings = new Map<string, AccountStanding>()
  /** By epoch and index. */
  readonly epochs = new Map<number, Map<number, string>>()
  readonly told: Told[] = []
  answer: (webhook: string, data: Told['body']['data']) => 'taken' | 'refused' | 'away' = () => 'taken'
  /** Why a webhook's key does not open it; undefined where it does. */
  lacksKey: () => string | undefined = () => undefined
  /** Says before each step that lasts whether the process dies there. */
  dies: () => boolean = () => false
  nowMs = FIRST_MS

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog
  }

  async start() {
    const book = await readWebhookBook(this.#eventLog, never)
    const accounts = new AccountsOnLog(this.#eventLog, never)
    const writer: EventWriter = {
      append: async (topic, events) => {
        this.#mayDie()
        // A part may be there.
        if (this.dies()) {
          await this.#eventLog.append(topic, events.slice(0, Math.ceil(events.length / 2)))
          throw new Killed()
        }
        const positions = await this.#eventLog.append(topic, events)
        this.#mayDie()
        return positions
      },
    }
    const now = () => this.nowMs++
    const look = async (account: string) => this.standings.get(account)
    const noticer = new Noticer({
      ...{ book, writer, accounts, look, now },
      chains: () => [WORLD_CHAIN],
      warehouse: this.#warehouse(),
    })
    const receiverOf = (webhookId: string) => {
      const reason = this.lacksKey()
      if (reason !== undefined) throw new AppError('usage', reason)
      return { url: webhookId, secret: Buffer.from('secret') }
    }
    const parts = { book, writer, now, receiverOf, fetch: this.#receivers() }
    return {
      book,
      look: () => noticer.look(),
      deliver: async (webhookId: string) => {
        while (await deliverWaiting(parts, webhookId, never)) {
          // until nothing waits
        }
      },
    }
  }

  async round(): Promise<void> {
    const role = await this.start()
    await role.look()
    for (const { webhookId } of role.book.tellings()) await role.deliver(webhookId)
  }

  #mayDie(): void {
    if (this.dies()) throw new Killed()
  }

  #receivers(): PublicFetch {
    return {
      fetch: async ({ url, headers, body }: PublicRequest) => {
        this.#mayDie()
        const message = JSON.parse(Buffer.from(body ?? []).toString())
        const answer = this.answer(url, message.data)
        if (answer === 'away')
          return { status: 'failed', isLate: false, reason: 'the server could not be asked (ECONNREFUSED)' }
        if (answer === 'refused') return { status: 'answered', httpStatus: 500, type: '', body: new Uint8Array() }
        this.told.push({ webhook: url, id: headers?.['webhook-id'] ?? '', body: message })
        this.#mayDie()
        return { status: 'answered', httpStatus: 204, type: '', body: new Uint8Array() }
      },
    }
  }

  #warehouse(): WarehouseReader {
    return {
      query: async <Row>(_: string, params?: object) => {
        const { from, to, indices } = params as { from: number; to: number; indices: readonly number[] }
        const firsts = new Map<string, object>()
        for (const [epoch, statuses] of [...this.epochs].sort(([a], [b]) => a - b))
          for (const [index, status] of statuses) {
            if (epoch < from || epoch > to || !indices.includes(index) || firsts.has(`${index} ${status}`)) continue
            const code = VALIDATOR_STATUSES.indexOf(status as (typeof VALIDATOR_STATUSES)[number])
            firsts.set(`${index} ${status}`, { validator_index: index, status: code, first: epoch })
          }
        return [...firsts.values()] as Row[]
      },
    }
  }
}
