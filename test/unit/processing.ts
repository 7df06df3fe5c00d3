import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { consume, type Projector } from '../../processors/loop/consume.ts'
import { markFilled } from '../../processors/loop/filled-from.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { prepareFilling } from '../../processors/loop/prepare-filling.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { lagGone } from '../contract/event-log-helpers.ts'
import { projecting } from './projecting.ts'
import { silentLog } from './silent-log.ts'

const never = new AbortController().signal

/** Groups read the log to its end side by side, as in a process that starts, and what follows is made. */
export async function processLog(
  eventLog: EventLog,
  warehouse: Warehouse,
  groups = PROJECTORS.map(({ group }) => group),
): Promise<void> {
  const facts = await openLogFacts(eventLog, 0, never)
  await prepareFilling({ eventLog, warehouse, log: silentLog, facts, projectors: PROJECTORS }, 1, never)
  await readLog(eventLog, warehouse, groups)
  // As finishFilling does, which derives everything once more.
  await markFilled(warehouse, facts, { now: 1, isWhole: true })
}

/** As processLog, into tables that are prepared already. */
export async function readLog(eventLog: EventLog, warehouse: Warehouse, groups: readonly string[]): Promise<void> {
  const ports = await projecting(eventLog, warehouse)
  const toItsEnd = async (projector: Projector): Promise<void> => {
    const stop = new AbortController()
    const running = consume(ports, projector, stop.signal)
    await Promise.race([running, lagGone(eventLog, projector.group, projector.topic)])
    stop.abort()
    await running
  }
  const wanted = PROJECTORS.filter(({ group }) => groups.includes(group))
  // The others may set events aside.
  const isLast = ({ topic }: Projector): boolean => topic === 'dead-letters'
  await Promise.all(wanted.filter((projector) => !isLast(projector)).map(toItsEnd))
  await Promise.all(wanted.filter(isLast).map(toItsEnd))
  await ports.wanted.make()
}
