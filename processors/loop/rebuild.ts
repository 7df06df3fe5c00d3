import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { PROJECTIONS } from '../../schemas/tables/tables.ts'
import { projectors } from '../projections.ts'
import { consume, type Projecting, type Projector } from './consume.ts'

export interface RebuildProgress {
  readonly group: string
  readonly done: number
  readonly total: number
}

/**
 * Empties every projection and replays the log into it; resolves when all that was in the log is in the warehouse. Nothing
 * else may consume meanwhile. Interrupted, it leaves the groups where they were: the next start goes on from there, to the
 * same tables. What is among the dead letters already is not written there again, so the log does not grow.
 */
export async function rebuild(
  ports: Projecting,
  onProgress: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const all = projectors(ports.warehouse)
  const setAsideBefore = new Set<string>()
  for await (const { event } of ports.eventLog.read({ topic: 'dead-letters', signal })) setAsideBefore.add(event.id)
  // Groups go back before tables are emptied: a crash in between leaves a replay over full tables, which changes nothing.
  for (const { topic, group } of all) await ports.eventLog.rewind(topic, group)
  for (const table of Object.keys(PROJECTIONS)) await ports.warehouse.command(`TRUNCATE TABLE ${table}`)
  for (const projector of all) {
    if (signal.aborted) return
    await catchUp({ ...ports, setAsideBefore }, projector, onProgress, signal)
  }
}

/** Consumes until the group has no lag. */
export async function catchUp(
  ports: Projecting,
  projector: Projector,
  onProgress: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const { group, topic } = projector
  const total = Number(await ports.eventLog.lag(topic, group))
  onProgress({ group, done: 0, total })
  if (total === 0) return
  const caughtUp = new AbortController()
  const newest = new Map<number, bigint>()
  let done = 0
  const count = (batch: readonly StoredEvent[]): void => {
    for (const { position } of batch) {
      // A batch that comes again is not counted again.
      if (position.offset <= (newest.get(position.partition) ?? -1n)) continue
      newest.set(position.partition, position.offset)
      done++
    }
    onProgress({ group, done: Math.min(done, total), total })
    if (done >= total) caughtUp.abort()
  }
  await consume(ports, projector, AbortSignal.any([signal, caughtUp.signal]), count)
}
