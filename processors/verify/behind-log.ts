import type { EventLog } from '../../infra/ports/event-log.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import {
  feeRateSet,
  settlementCorrected,
  settlementsLocked,
  tokenCreated,
  tokenRevoked,
  validatorsTracked,
  validatorsUntracked,
  validatorsUnwatched,
  validatorsWatched,
} from '../../schemas/events/accounts.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import { exitCallRead } from '../../schemas/events/exit-calls.ts'
import { exitCancelled, exitEnded, exitRequested, exitSigned, exitSubmitted } from '../../schemas/events/exits.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { settlementsKept } from '../../schemas/events/kept-settlements.ts'
import { orderExtended, orderMoved, orderPlaced } from '../../schemas/events/orders.ts'
import { exitsPresigned } from '../../schemas/events/presigned-exits.ts'
import { stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import { validatorLabelled } from '../../schemas/events/validator-labels.ts'
import { keysAssigned, keysExported, keysImported, keysTaken } from '../../schemas/events/vault-keys.ts'
import { webhookCreated, webhookRevoked } from '../../schemas/events/webhooks.ts'
import { type DeadLetter, DeadLetters } from '../loop/dead-letters.ts'
import { readLogFacts } from '../loop/log-facts.ts'
import { missingLetters, missingWhole, missingWork } from './find-missing.ts'
import { type Unprocessed, untilProcessed } from './until-processed.ts'

/** What settlements follow from. */
const TOPICS_OF_SETTLEMENTS: ReadonlySet<Topic> = new Set<Topic>([
  'accounts',
  'validators',
  'beacon.epochs',
  'execution.blocks',
  'log',
])

/** Account facts that tables of settlements are made of. */
const SETTLING = [
  ...[validatorsTracked, validatorsUntracked, validatorsCreated],
  ...[feeRateSet, feeRecipientsTold, settlementCorrected],
]

/** Account facts that none is made of, or what it says already: whoever locks a day twice in a row has said nothing that changes one. */
const SETTLING_NOTHING = [
  ...[tokenCreated, tokenRevoked, settlementsKept, settlementsLocked],
  ...[validatorsWatched, validatorsUnwatched, validatorLabelled],
  ...[exitRequested, exitCancelled, exitSigned, exitSubmitted, exitEnded, exitsPresigned, exitCallRead],
  ...[stakingBroadcast, stakingEnded],
  ...[keysExported, keysImported, keysAssigned, keysTaken],
  ...[webhookCreated, webhookRevoked],
  ...[orderPlaced, orderMoved, orderExtended],
]

/** By the types of account facts. One that is not named may be a later release's, and is waited for. */
export const SETTLES: ReadonlyMap<string, boolean> = new Map([
  ...SETTLING.map(({ name }) => [name, true] as const),
  ...SETTLING_NOTHING.map(({ name }) => [name, false] as const),
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
    ...missingLetters((await DeadLetters.open(ports.eventLog)).unresolved.filter(isOfSettlements)),
  ]
  return first === undefined ? undefined : `${first.what}.`
}

/** An account fact that was set aside may be a later release's, of which nobody knows what it settles. */
function isOfSettlements({ topic, eventType }: DeadLetter): boolean {
  return TOPICS_OF_SETTLEMENTS.has(topic as Topic) && SETTLES.get(eventType) !== false
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
    if (SETTLES.get(event.type) !== false) return true
  }
  return false
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
