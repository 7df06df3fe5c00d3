import type { EventLog } from '../infra/ports/event-log.ts'
import type { JobQueue } from '../infra/ports/job-queue.ts'
import type { Warehouse } from '../infra/ports/warehouse.ts'
import { chainClock } from '../processors/rewards/days.ts'
import { callsToTake } from '../processors/validators/exit/calls-to-take.ts'
import { takeExitCalls } from '../schemas/jobs/take-exit-calls.ts'
import { atIntervals } from './at-intervals.ts'
import type { Ports, Running } from './role.ts'
import { exitContractOf } from './validators/staking-chains.ts'

const LOOK_INTERVAL_MS = 5_000
interface WantingPorts {
  readonly eventLog: Pick<EventLog, 'lag'>
  readonly warehouse: Warehouse
  readonly jobQueue: Pick<JobQueue, 'request'>
}

/** What tells of deposits of before a call, and whose they are. */
const COMPARED = [
  ['execution.logs', 'execution-logs'],
  ['accounts', 'accounts'],
  ['validators', 'validators'],
] as const
/**
 * Events of each that may wait to be processed: a final call is two epochs old, of which every block has an event, so what waits is newer.
 */
const BEHIND_MAX = 32n

/**
 * Has the role with the keys take what withdrawal addresses have asked for by exit-request contracts, as long as no end of it is known: a
 * job that is lost is asked for again.
 */
export function wantExitCalls(ports: Ports, running: Running, signal: AbortSignal): Promise<void> {
  const look = async (): Promise<void> => {
    for (const config of running.chains.current) {
      const contract = exitContractOf(config)
      if (contract !== undefined && !config.paused) await wantCallsOf(ports, { chain: config.names.name, contract })
    }
  }
  const { log } = running
  return atIntervals({ log, what: 'the watch over calls for exits', intervalMs: () => LOOK_INTERVAL_MS }, look, signal)
}

/** Asks for the calls of one contract, unless what they are compared with is behind. */
export async function wantCallsOf(
  { eventLog, warehouse, jobQueue }: WantingPorts,
  named: { readonly chain: string; readonly contract: string },
): Promise<void> {
  const clock = await chainClock(warehouse, named.chain)
  if (clock === undefined) return // nothing is final yet
  const calls = await callsToTake(warehouse, named, clock)
  if (calls.length === 0) return
  for (const [topic, group] of COMPARED) if ((await eventLog.lag(topic, group)) > BEHIND_MAX) return
  const input = { ...named, calls: [...calls] }
  await jobQueue.request(takeExitCalls.name, takeExitCalls.idOf(input), input)
}
