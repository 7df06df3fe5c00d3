import { hasBeacon } from '../../infra/config/select-chain.ts'
import { openGuardedFetch } from '../../infra/guarded-fetch/guarded-fetch.ts'
import type { Lease } from '../../infra/ports/event-log.ts'
import { AccountsOnLog } from '../../processors/webhooks/accounts-on-log.ts'
import { deliverWaiting } from '../../processors/webhooks/deliver.ts'
import { Noticer } from '../../processors/webhooks/notice-changes.ts'
import { readWebhookBook, type WebhookBook } from '../../processors/webhooks/webhook-book.ts'
import { deliverWebhook } from '../../schemas/jobs/deliver-webhook.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { pause } from '../../schemas/wait.ts'
import { allOrNone } from '../ingest-role.ts'
import { chainNowMs, type Ports, type Role, type Running } from '../role.ts'
import { whileLeased } from '../while-leased.ts'
import { receiversOf } from './receivers.ts'
import { standingsOf } from './standing.ts'

const WEBHOOKS_LEASE = 'webhooks'
/** Between two looks for what is new; without webhooks one reads what operators have said, and nothing else. */
const LOOK_MS = 2_000
/** Receivers that are told at once: one that does not answer takes a place for ten seconds, and then makes room. */
const RECEIVERS_AT_ONCE = 8
/** A queue that has lost its jobs is asked anew after so long. */
const ASK_AGAIN_MS = 60_000

/** Tells the servers of customers what happens to their validators: the one role that calls them. */
export const webhooksRole: Role = webhooksRoleOf({ lookMs: LOOK_MS })

interface Pace {
  readonly lookMs: number
}

export function webhooksRoleOf(pace: Pace): Role {
  return {
    name: 'webhooks',
    needs: ['eventLog', 'warehouse', 'jobQueue'],
    run(ports, running, signal) {
      const { log } = running
      const onLost = (reason: string) =>
        log.warn({ reason }, 'the right to tell the webhooks is lost: asking for it again')
      return whileLeased(
        { eventLog: ports.eventLog, log, lease: WEBHOOKS_LEASE, what: 'the telling of webhooks', onLost },
        (lease, ending) => tellWebhooks({ ports, running, lease, pace }, ending),
        signal,
      )
    },
  }
}

interface Told {
  readonly ports: Ports
  readonly running: Running
  readonly lease: Lease
  readonly pace: Pace
}

async function tellWebhooks(told: Told, signal: AbortSignal): Promise<void> {
  const { eventLog } = told.ports
  const book = await readWebhookBook(eventLog, signal)
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const accounts = new AccountsOnLog(eventLog, ending)
  const parts = { ...told, book, accounts }
  await allOrNone([noticing(parts, ending), delivering(parts, ending)], stop)
}

interface Parts extends Told {
  readonly book: WebhookBook
  readonly accounts: AccountsOnLog
}

/** Looks for what is new, and asks the queue for who has to be told. */
async function noticing({ ports, running, lease, pace, book, accounts }: Parts, signal: AbortSignal): Promise<void> {
  const { warehouse, jobQueue } = ports
  const { log, config, chains } = running
  const nowMs = () => chainNowMs(running)
  const noticer = new Noticer({
    ...{ book, writer: lease, accounts, warehouse, now: Date.now },
    chains: () => chains.current.filter(hasBeacon).map(({ names }) => names.name),
    look: standingsOf({ warehouse, ownership: accounts.book.ownership, rules: config.validators, nowMs }),
  })
  const asked = new Map<string, { readonly newest: string | undefined; readonly atMs: number }>()
  const round = async (): Promise<void> => {
    await noticer.look()
    for (const { webhookId, waiting } of book.tellings()) {
      if (waiting.size === 0) continue
      const newest = [...waiting.keys()].at(-1)
      const last = asked.get(webhookId)
      if (last !== undefined && last.newest === newest && performance.now() - last.atMs < ASK_AGAIN_MS) continue
      const input = { webhookId }
      await jobQueue.request(deliverWebhook.name, deliverWebhook.idOf(input), input)
      asked.set(webhookId, { newest, atMs: performance.now() })
    }
  }
  while (!signal.aborted) {
    await retryWithBackoff({ log, signal, what: 'the look for what webhooks are told' }, round)
    await pause(pace.lookMs, signal)
  }
}

/** Does what the queue was asked for; what is not taken the queue tries again. */
async function delivering({ ports, running, lease, book, accounts }: Parts, signal: AbortSignal): Promise<void> {
  const { config, log } = running
  const { keySource, allowedServer } = config.webhooks
  const fetch = openGuardedFetch(allowedServer === undefined ? {} : { allowed: allowedServer })
  const receiverOf = receiversOf({ accounts, source: keySource, log, now: () => performance.now() })
  const parts = { book, writer: lease, fetch, receiverOf, now: Date.now }
  await ports.jobQueue.work({
    name: deliverWebhook.name,
    concurrency: RECEIVERS_AT_ONCE,
    signal,
    async handle({ input }) {
      const asked = deliverWebhook.parse(input)
      const isMore = await deliverWaiting(parts, asked.webhookId, signal)
      if (isMore) await ports.jobQueue.request(deliverWebhook.name, deliverWebhook.idOf(asked), asked)
      return null
    },
  })
}
