import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { consume } from '../../processors/loop/consume.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { prepareFilling } from '../../processors/loop/prepare-filling.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { lagGone } from '../contract/event-log-helpers.ts'
import { projecting } from './projecting.ts'
import { silentLog } from './silent-log.ts'

const never = new AbortController().signal

/** Groups read the log to its end, as a process that starts does it, and what follows is made. */
export async function processLog(
  eventLog: EventLog,
  warehouse: Warehouse,
  groups = PROJECTORS.map(({ group }) => group),
): Promise<void> {
  const facts = await openLogFacts(eventLog, 0, never)
  await prepareFilling({ eventLog, warehouse, log: silentLog, facts, projectors: PROJECTORS }, 1, never)
  const ports = await projecting(eventLog, warehouse)
  for (const projector of PROJECTORS.filter(({ group }) => groups.includes(group))) {
    const stop = new AbortController()
    const running = consume(ports, projector, stop.signal)
    await Promise.race([running, lagGone(eventLog, projector.group, projector.topic)])
    stop.abort()
    await running
  }
  await ports.wanted.make()
}
