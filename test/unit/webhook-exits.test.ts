import { expect, test } from 'vitest'
import type { EventLog, StoredEvent } from '../../infra/ports/event-log.ts'
import { AccountsOnLog, type ExitNews } from '../../processors/webhooks/accounts-on-log.ts'
import { Noticer } from '../../processors/webhooks/notice-changes.ts'
import { WebhookBook } from '../../processors/webhooks/webhook-book.ts'
import { AppError } from '../../schemas/errors.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { exitEnded, exitRequested } from '../../schemas/events/exits.ts'

const never = new AbortController().signal
const chain = 'mainnet'
const KEY = `0x${'ab'.repeat(48)}`
const ENVELOPE = { key: ACCOUNTS_KEY, time: '2026-11-22T00:00:00.000Z' }
const asked = { chain, account: 'acme', requestId: crypto.randomUUID(), actor: 'ab', pubkeys: [KEY] }
const FACTS = [
  encodeEvent(exitRequested, { id: 'a', ...ENVELOPE, data: asked }),
  encodeEvent(exitEnded, {
    ...{ id: 'b', ...ENVELOPE },
    data: { chain, pubkey: KEY, end: { status: 'failed', reason: 'another_account' } },
  }),
]

/** A log whose first read breaks behind its events. */
class BreakingLog implements Pick<EventLog, 'read' | 'ends'> {
  #isBroken = true

  async ends() {
    // One more than there are events: a mark of a transaction.
    return new Map([[0, BigInt(FACTS.length + 1)]])
  }

  async *read({ from }: { readonly from?: ReadonlyMap<number, bigint> }): AsyncGenerator<StoredEvent> {
    const first = Number(from?.get(0) ?? 0n)
    for (const [i, event] of FACTS.entries())
      if (i >= first) yield { position: { partition: 0, offset: BigInt(i) }, event }
    if (!this.#isBroken) return
    this.#isBroken = false
    throw new AppError('event_log', 'the log is away', { retryable: true })
  }
}

test('steps of exits that were read before a read failed are told after it', async () => {
  const accounts = new AccountsOnLog(new BreakingLog(), never)
  await expect(accounts.readOn()).rejects.toMatchObject({ code: 'event_log' })
  await accounts.readOn()
  expect(accounts.takeNews()).toMatchObject([{ account: 'acme', offset: 1n, step: { pubkey: KEY, step: 'failed' } }])
  expect(accounts.takeNews()).toEqual([])
})

test('a first look takes the steps of exits of the whole log, however many there are', async () => {
  // More than a call takes as arguments.
  const many = Array.from({ length: 200_000 }, (_, i): ExitNews => {
    return { chain, account: 'acme', offset: BigInt(i), step: { pubkey: KEY, step: 'requested' } }
  })
  class LongAccounts extends AccountsOnLog {
    override takeNews = () => many
  }
  const noticer = new Noticer({
    ...{ book: new WebhookBook(), accounts: new LongAccounts(new BreakingLog(), never), now: Date.now },
    writer: { append: async () => [] },
    warehouse: { query: async () => [] },
    chains: () => [chain],
    look: async () => undefined,
  })
  await expect(noticer.look()).rejects.toMatchObject({ code: 'event_log' })
  await noticer.look()
})
