import type { EventLog } from '../infra/ports/event-log.ts'
import { readLogFacts } from '../processors/loop/log-facts.ts'
import { AppError } from '../schemas/errors.ts'
import { chainOfEvent } from '../schemas/events/chain-of-event.ts'
import { UNNAMED_CHAIN } from '../schemas/events/codec.ts'

/** Throws AppError `usage` for a chain of which no ingester has left a cursor; `undone` ends the sentence: "nothing was removed". */
export async function refuseChainOutsideLog(
  eventLog: EventLog,
  chain: string,
  undone: string,
  signal: AbortSignal,
): Promise<void> {
  const unnamedChain = (await readLogFacts(eventLog, signal))?.unnamedChain ?? UNNAMED_CHAIN
  for await (const { event } of eventLog.read({ topic: 'ingest.cursors', signal })) {
    if (chainOfEvent(event, unnamedChain) === chain) return
  }
  throw new AppError('usage', `Nothing of ${chain} was ever ingested into this log; ${undone}.`)
}
