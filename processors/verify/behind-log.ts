import type { EventLog } from '../../infra/ports/event-log.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import {
  settlementsLocked,
  tokenCreated,
  tokenRevoked,
  validatorsUnwatched,
  validatorsWatched,
} from '../../schemas/events/accounts.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { validatorLabelled } from '../../schemas/events/validator-labels.ts'
import { readLogFacts } from '../loop/log-facts.ts'
import { missingWhole, missingWork } from './find-missing.ts'
import { type Unprocessed, untilProcessed } from './until-processed.ts'

/** What settlements follow from. */
const TOPICS_OF_SETTLEMENTS: ReadonlySet<Topic> = new Set<Topic>([
  'accounts',
  'validators',
  'beacon.epochs',
  'execution.blocks',
  'log',
])

/** Account facts that no table of settlements is made of: whoever locks a day twice in a row has said nothing that changes one. */
const SETTLING_NOTHING: ReadonlySet<string> = new Set([
  tokenCreated.name,
  tokenRevoked.name,
  validatorsWatched.name,
  validatorsUnwatched.name,
  settlementsLocked.name,
  validatorLabelled.name,
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
  if (events.has('accounts') && !(await changesSettlements(ports.eventLog, unprocessed, signal))) {
    events.delete('accounts')
  }
  const facts = await readLogFacts(ports.eventLog, signal)
  const [first] = [
    ...(await missingWhole(ports.warehouse, unprocessed, facts)),
    ...missingWork({ events, jobs: unprocessed.jobs }),
  ]
  return first === undefined ? undefined : `${first.what}.`
}

/** Whether one of the account facts that are not processed may change what is settled; each partition's last ones are looked at. */
async function changesSettlements(
  eventLog: EventLog,
  { ends, events }: Pick<Unprocessed, 'ends' | 'events'>,
  signal: AbortSignal,
): Promise<boolean> {
  const waiting = BigInt(events.get('accounts') ?? 0)
  const from = new Map(
    [...(ends.get('accounts') ?? [])].map(([partition, end]) => [partition, maxOf(0n, end - waiting)]),
  )
  for await (const { event } of eventLog.read({ topic: 'accounts', from, signal, envelopesOnly: true })) {
    if (!SETTLING_NOTHING.has(event.type)) return true
  }
  return false
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
