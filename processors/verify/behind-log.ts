import type { EventLog } from '../../infra/ports/event-log.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { readLogFacts } from '../loop/log-facts.ts'
import { missingWhole, missingWork } from './find-missing.ts'
import { untilProcessed } from './until-processed.ts'

/** What settlements follow from. */
const TOPICS_OF_SETTLEMENTS: ReadonlySet<Topic> = new Set<Topic>([
  'accounts',
  'validators',
  'beacon.epochs',
  'execution.blocks',
  'log',
])

/**
 * Why the tables cannot tell what the log, as it is now, has settled: as sentences; undefined where they can. With `waitMsMax`
 * processors are waited for so long.
 */
export async function whySettlementsAreUnknown(
  ports: { readonly eventLog: EventLog; readonly warehouse: Warehouse; readonly jobQueue: Pick<JobQueue, 'pending'> },
  { waitMsMax, signal }: { readonly waitMsMax: number; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const unprocessed = await untilProcessed(ports, { wait: waitMsMax > 0, waitMsMax, signal })
  const events = new Map([...unprocessed.events].filter(([topic]) => TOPICS_OF_SETTLEMENTS.has(topic)))
  const facts = await readLogFacts(ports.eventLog, signal)
  const [first] = [
    ...(await missingWhole(ports.warehouse, unprocessed, facts)),
    ...missingWork({ events, jobs: unprocessed.jobs }),
  ]
  return first === undefined ? undefined : `${first.what}.`
}
