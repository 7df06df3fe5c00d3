import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EventCounts } from './history-events.ts'

const SCRIPT = join(import.meta.dirname, 'explain-histories.ts')

export interface Histories {
  readonly preset: 'minimal' | 'mainnet'
  /** The first seed; the others are the numbers after it. */
  readonly from: number
  readonly seeds: number
}

/**
 * Explains random histories in a process of their own, since a process has one preset; how often each event occurred. Rejects with the
 * process's words at the first component that is not the reference's.
 */
export async function explainHistories({ preset, from, seeds }: Histories): Promise<EventCounts> {
  const env = { ...process.env, LODESTAR_PRESET: preset }
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, String(from), String(seeds)], { env })
  return JSON.parse(stdout) as EventCounts
}
