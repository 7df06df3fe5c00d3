import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { CreatedRequest, KeyKeeping, RequestPlace } from '../../infra/ports/key-keeping.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { createdEvent } from './announce-created.ts'
import { durably } from './durable-steps.ts'
import type { StakingBook } from './staking-book.ts'

interface Keeping {
  readonly vault: KeyKeeping
  readonly writer: EventWriter
  readonly book: StakingBook
}

/**
 * Tells the log of what the vault has kept and the log does not know: it was killed in between, or another log was put in its place. A
 * vault with an answer that somebody has changed tells nothing more: the operator has to see to it, and what is right goes on.
 */
export async function announceKept(keeping: Keeping, log: Log): Promise<void> {
  let told = 0
  let place: RequestPlace | undefined
  try {
    for (;;) {
      const page = await keeping.vault.requestsAfter(place)
      const last = page.at(-1)
      if (last === undefined) break
      told += await announcePage(keeping, page)
      place = { account: last.request.account, requestId: last.requestId }
    }
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'key_vault' && !error.retryable)) throw error
    log.error({ reason: error.message }, 'what the key vault has kept cannot be told to the log')
  }
  if (told > 0)
    log.warn({ requests: told }, 'the log was told of validators that the key vault has and it did not know')
}

/** How many requests of the page the log did not know. */
async function announcePage({ book, writer }: Keeping, page: readonly CreatedRequest[]): Promise<number> {
  const unknown = page.filter(({ requestId, request: { account } }) => !book.created.hasRequest({ account, requestId }))
  const events = unknown.map(({ requestId, request: { account, answer }, chain, createdAtMs }) => {
    const time = formatInstant(Math.floor(createdAtMs / 1_000))
    return createdEvent({ chain, account, requestId, answer, time, createdAtSlot: undefined })
  })
  if (events.length > 0) await durably('create-told', () => book.tell(writer, events))
  return events.length
}
