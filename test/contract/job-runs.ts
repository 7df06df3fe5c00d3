import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'

const RUN_MS = 15

export interface NotedRun {
  readonly id: string
  readonly input: unknown
  /** Another run of the id was going on, in this process or another. */
  readonly overlaps: boolean
}

/**
 * Notes the run of a job in a folder that several processes share. The lock is SQLite's on a file per id: the kernel gives it
 * back when its process is killed.
 */
export async function noteRun(directory: string, { id, input }: { id: string; input: unknown }): Promise<void> {
  const lock = new DatabaseSync(join(directory, `${id}.lock`), { timeout: 0 })
  try {
    const overlaps = !takes(lock)
    await delay(RUN_MS)
    const run: NotedRun = { id, input, overlaps }
    appendFileSync(join(directory, 'runs'), `${JSON.stringify(run)}\n`)
  } finally {
    lock.close()
  }
}

function takes(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN IMMEDIATE')
    return true
  } catch {
    return false
  }
}

export function readRuns(directory: string): readonly NotedRun[] {
  const lines = readFileSync(join(directory, 'runs'), 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line))
}
