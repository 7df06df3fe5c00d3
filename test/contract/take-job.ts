import { openBullmqJobQueue } from '../../infra/job-queue/bullmq.ts'
import type { JobLimits } from '../../infra/job-queue/limits.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'

/** Takes a job, says so, and never ends it: a process to be killed. */
const [limits = '', adapter, ...where] = process.argv.slice(2)
const queue = await open(JSON.parse(limits))
await queue.work({
  name: 'exit',
  concurrency: 1,
  signal: new AbortController().signal,
  handle: () => {
    process.stdout.write('taken\n')
    return new Promise(() => {})
  },
})

function open(jobLimits: JobLimits): Promise<JobQueue> {
  if (adapter === 'sqlite') return openSqliteJobQueue({ file: where[0] ?? '', ...jobLimits })
  return openBullmqJobQueue({ redisUrl: where[0] ?? '', prefix: where[1] ?? '', ...jobLimits })
}
