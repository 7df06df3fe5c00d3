import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Type } from 'typebox'
import { expect, onTestFinished, test } from 'vitest'
import { askJob } from '../../api/http/ask-job.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import { answeringJob } from '../../schemas/jobs/job.ts'
import { jobQueueContract } from './job-queue.ts'
import { jobForgettingContract } from './job-queue-forgetting.ts'
import { type JobQueuePlace, LONG_MS, startWork } from './job-queue-place.ts'
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
jobForgettingContract('SQLite', newPlace)

/** As version 1 made it. */
const FIRST_SCHEMA = `
  CREATE TABLE jobs (
    name    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    input   TEXT    NOT NULL,
    status  TEXT    NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'active', 'completed', 'failed')),
    due_at  INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    worker  TEXT,
    output  TEXT,
    reason  TEXT,
    PRIMARY KEY (name, id)
  );
  CREATE INDEX jobs_due ON jobs (name, due_at) WHERE status IN ('waiting', 'active')`

test('opens a file of the version before requests, and keeps its jobs', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-job-queue-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'jobs.db')
  const before = new DatabaseSync(file)
  before.exec(
    `${FIRST_SCHEMA}; PRAGMA user_version = 1; INSERT INTO jobs (name, id, input, due_at) VALUES ('exit', 'a', '7', 0)`,
  )
  before.close()
  const queue = await openSqliteJobQueue({ file })
  onTestFinished(() => queue[Symbol.asyncDispose]())
  await queue.request('exit', 'b', null)
  expect(await queue.pending('exit')).toBe(2)
  expect(await queue.state('exit', 'a')).toEqual({ status: 'waiting' })
  expect(await queue.add('exit', 'c', null, { keepMs: 1 })).toEqual({ status: 'added' })
})

test('forgets the jobs that had ended before any were forgotten, and does the others', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-job-queue-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'jobs.db')
  const before = new DatabaseSync(file)
  const insert = (id: string, status: string) =>
    before.exec(`INSERT INTO jobs (name, id, input, status, due_at) VALUES ('exit', '${id}', '7', '${status}', 0)`)
  before.exec(`${FIRST_SCHEMA}; PRAGMA user_version = 1`)
  for (const status of ['completed', 'failed', 'waiting']) insert(status, status)
  before.close()
  const queue = await openSqliteJobQueue({ file })
  onTestFinished(() => queue[Symbol.asyncDispose]())
  const states = await Promise.all(['completed', 'failed', 'waiting'].map((id) => queue.state('exit', id)))
  expect(states.map(({ status }) => status)).toEqual(['unknown', 'unknown', 'waiting'])
})

test('a request that nobody has done in time leaves no job behind', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-job-queue-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const queue = await openSqliteJobQueue({ file: join(directory, 'jobs.db') })
  onTestFinished(() => queue[Symbol.asyncDispose]())
  const job = answeringJob(
    'exit',
    { input: Type.Object({ notAfterMs: Type.Number() }), output: Type.String() },
    () => 'a',
  )
  expect(await askJob({ jobs: queue, wallNow: Date.now }, job, { input: {}, timeoutMs: 10 })).toBeUndefined()
  expect(await queue.pending('exit')).toBe(0)
})

test('the job of a request is forgotten a minute after its end', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-job-queue-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const file = join(directory, 'jobs.db')
  const queue = await openSqliteJobQueue({ file })
  onTestFinished(() => queue[Symbol.asyncDispose]())
  const job = answeringJob(
    'exit',
    { input: Type.Object({ notAfterMs: Type.Number() }), output: Type.String() },
    () => 'a',
  )
  startWork(queue, async () => 'done')
  const begunMs = Date.now()
  expect(await askJob({ jobs: queue, wallNow: Date.now }, job, { input: {}, timeoutMs: LONG_MS })).toBe('done')
  using db = new DatabaseSync(file, { readOnly: true })
  const forgetAt = Number(db.prepare('SELECT forget_at FROM jobs').get()?.forget_at)
  expect(forgetAt).toBeGreaterThanOrEqual(begunMs + 60_000)
  expect(forgetAt).toBeLessThanOrEqual(Date.now() + 60_000)
})
