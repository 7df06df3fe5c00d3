import { setTimeout as delay } from 'node:timers/promises'
import { openBullmqJobQueue } from '../../infra/job-queue/bullmq.ts'
import type { JobLimits } from '../../infra/job-queue/limits.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { JobProcessTask } from './job-queue-place.ts'
import { noteRun } from './job-runs.ts'

/** A process to be killed: it does its task, writes one line when it has begun, and lives on. */
const [limits = '', taskText = '', adapter, ...where] = process.argv.slice(2)
const queue = await open(JSON.parse(limits))
await run(JSON.parse(taskText))

function open(jobLimits: JobLimits): Promise<JobQueue> {
  if (adapter === 'sqlite') return openSqliteJobQueue({ file: where[0] ?? '', ...jobLimits })
  return openBullmqJobQueue({ redisUrl: where[0] ?? '', prefix: where[1] ?? '', ...jobLimits })
}

async function run(task: JobProcessTask): Promise<void> {
  const shared = { name: 'exit', signal: new AbortController().signal }
  switch (task.kind) {
    case 'take':
      // Takes a job, says so, and never ends it.
      return queue.work({
        ...shared,
        concurrency: 1,
        handle: () => {
          process.stdout.write('taken\n')
          return new Promise(() => {})
        },
      })
    case 'request':
      await queue.request('exit', task.id, task.input)
      process.stdout.write('requested\n')
      return delay(2 ** 30) // until it is killed
    case 'work':
      process.stdout.write('working\n')
      return queue.work({ ...shared, concurrency: 4, handle: (job) => noteRun(task.directory, job) })
  }
}
