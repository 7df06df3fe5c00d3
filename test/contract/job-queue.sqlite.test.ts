import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import { JOBS_SCHEMA } from '../../infra/job-queue/sqlite-jobs.ts'
import { jobQueueContract } from './job-queue.ts'
import type { JobQueuePlace } from './job-queue-place.ts'
import { jobRequestsContract } from './job-queue-requests.ts'

async function newPlace(): Promise<JobQueuePlace> {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-job-queue-'))
  const file = join(directory, 'jobs.db')
  return {
    open: (options) => openSqliteJobQueue({ file, ...options }),
    childArguments: ['sqlite', file],
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}

jobQueueContract('SQLite', newPlace)
jobRequestsContract('SQLite', newPlace)

test('opens a file of the version before requests, and keeps its jobs', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-job-queue-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'jobs.db')
  const before = new DatabaseSync(file)
  before.exec(
    `${JOBS_SCHEMA}; PRAGMA user_version = 1; INSERT INTO jobs (name, id, input, due_at) VALUES ('exit', 'a', '7', 0)`,
  )
  before.close()
  const queue = await openSqliteJobQueue({ file })
  onTestFinished(() => queue[Symbol.asyncDispose]())
  await queue.request('exit', 'b', null)
  expect(await queue.pending('exit')).toBe(2)
  expect(await queue.state('exit', 'a')).toEqual({ status: 'waiting' })
})
