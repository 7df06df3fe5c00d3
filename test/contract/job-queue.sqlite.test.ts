import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import { jobQueueContract } from './job-queue.ts'

jobQueueContract('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-job-queue-'))
  const file = join(directory, 'jobs.db')
  return {
    open: (limits) => openSqliteJobQueue({ file, ...limits }),
    childArguments: ['sqlite', file],
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
})
