import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { readConfig } from '../../infra/config/config.ts'
import { openJobQueue } from '../../infra/open-ports.ts'
import { broadcastStaking } from '../../schemas/jobs/broadcast-staking.ts'
import { createValidators } from '../../schemas/jobs/create-validators.ts'
import { exitValidators } from '../../schemas/jobs/exit-validators.ts'
import { silentLog } from '../unit/silent-log.ts'
import type { Environment } from './processes.ts'
import { eventsOf, openLog } from './stores.ts'

/** What requests may leave behind. */
export interface LeftBehind {
  /** On the vault's disk. */
  readonly keys: number
  readonly requests: number
  /** Facts of accounts. */
  readonly events: number
  /** Ids of jobs of requests: in a file those that have ended too, of which some are forgotten meanwhile; on a server none that has. */
  readonly jobs: ReadonlySet<string>
}

const ASKED = [createValidators, broadcastStaking, exitValidators].map(({ name }) => name)

export async function leftBehind(env: Environment): Promise<LeftBehind> {
  const { mode, vault } = readConfig(env)
  const events = await eventsOfAccounts(env)
  using kept = new DatabaseSync(join(vault.directory, 'vault.db'), { readOnly: true })
  const countOf = (table: string) => Number(kept.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.rows)
  const found = { keys: countOf('keys'), requests: countOf('requests'), events }
  if (mode.kind === 'servers') return { ...found, jobs: await waitingJobs(env) }
  using file = new DatabaseSync(mode.jobsFile, { readOnly: true })
  const ids = file.prepare('SELECT id FROM jobs WHERE name = ?')
  return { ...found, jobs: new Set(ASKED.flatMap((name) => ids.all(name).map(({ id }) => String(id)))) }
}

/** How much more there is. */
export function moreThan(before: LeftBehind, after: LeftBehind) {
  return {
    keys: after.keys - before.keys,
    requests: after.requests - before.requests,
    events: after.events - before.events,
    jobs: after.jobs.difference(before.jobs).size,
  }
}

async function eventsOfAccounts(env: Environment): Promise<number> {
  await using eventLog = await openLog(env)
  return (await eventsOf(eventLog, 'accounts')).length
}

/** The queue tells how many, not which: made-up names. */
async function waitingJobs(env: Environment): Promise<ReadonlySet<string>> {
  await using queue = await openJobQueue(readConfig(env), silentLog)
  const pending = await Promise.all(ASKED.map((name) => queue.pending(name)))
  return new Set(ASKED.flatMap((name, at) => Array.from({ length: pending[at] ?? 0 }, (_, i) => `${name} ${i}`)))
}
