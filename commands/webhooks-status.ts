import type { EventLog } from '../infra/ports/event-log.ts'
import type { JobQueue } from '../infra/ports/job-queue.ts'
import { readWebhookBook } from '../processors/webhooks/webhook-book.ts'
import { formatInstant } from '../schemas/eth/time.ts'
import { deliverWebhook } from '../schemas/jobs/deliver-webhook.ts'

/** A webhook whose receiver has not taken something. */
export interface WebhookStatus {
  readonly webhook: string
  readonly account: string
  /** Messages that are still to be taken. */
  readonly waiting: number
  /** When the oldest of them was noticed; null where none waits. */
  readonly waiting_since: string | null
  /** Messages that were not taken, or could not be signed, for three days, and are not told any more. */
  readonly given_up: number
  /** Why the last attempt failed; null where it has not. */
  readonly reason: string | null
}

/** Those of which something waits or was given up. */
export async function readWebhooks(
  eventLog: EventLog,
  jobQueue: Pick<JobQueue, 'state'>,
): Promise<readonly WebhookStatus[]> {
  const book = await readWebhookBook(eventLog, new AbortController().signal)
  const telling = book.tellings().filter(({ waiting, givenUp }) => waiting.size > 0 || givenUp > 0)
  return await Promise.all(
    telling.map(async ({ webhookId, account, waiting, givenUp, lastFailure = null }) => {
      const job = await jobQueue.state(deliverWebhook.name, deliverWebhook.idOf({ webhookId }))
      const [oldest] = waiting.values()
      return {
        ...{ webhook: webhookId, account, waiting: waiting.size, given_up: givenUp },
        waiting_since: oldest === undefined ? null : formatInstant(oldest.atMs / 1_000),
        reason: 'reason' in job && job.reason !== undefined ? job.reason : lastFailure,
      }
    }),
  )
}

/** A line for people. */
export function webhookLine({
  webhook,
  account,
  waiting,
  waiting_since: since,
  given_up: givenUp,
  reason,
}: WebhookStatus) {
  const wait = since === null ? 'none waits' : `${waiting} wait since ${since}`
  const lost = givenUp === 0 ? '' : `, ${givenUp} given up`
  return `${webhook} of ${account}: ${wait}${lost}${reason === null ? '' : ` (${reason})`}`
}
