import { PROJECTIONS } from '../schemas/tables.ts'
import { consume, type Projecting, type Projector } from './consume.ts'
import { projectors } from './start.ts'

export interface RebuildProgress {
  readonly group: string
  readonly done: number
  readonly total: number
}

/**
 * Empties every projection and replays the log into it; resolves when all that was in the log is in the warehouse. Nothing
 * else may consume meanwhile. Interrupted, it leaves the groups where they were: the next start goes on from there, to the
 * same tables.
 */
export async function rebuild(
  ports: Projecting,
  onProgress: (progress: RebuildProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const all = projectors(ports.warehouse)
  // Groups go back before tables are emptied: a crash in between leaves a replay over full tables, which changes nothing.
  for (const { topic, group } of all) await ports.eventLog.rewind(topic, group)
  for (const table of Object.keys(PROJECTIONS)) await ports.warehouse.command(`TRUNCATE TABLE ${table}`)
  for (const projector of all) {
    if (signal.aborted) return
    await catchUp(ports, projector, onProgress, signal)
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
  let done = 0
  const counted: Projector = {
    ...projector,
    rowsOf: (stored) => {
      done++
      return projector.rowsOf(stored)
    },
    after: async (rows) => {
      await projector.after?.(rows)
      onProgress({ group, done: Math.min(done, total), total })
      if (done >= total) caughtUp.abort()
    },
  }
  await consume(ports, counted, AbortSignal.any([signal, caughtUp.signal]))
}
