import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { webhooksSuite } from './webhooks.ts'

webhooksSuite({
  mode: 'embedded',
  modeOf: () => ({}),
  async forgetJobs(dataDirectory) {
    for (const suffix of ['', '-wal', '-shm']) rmSync(join(dataDirectory, `jobs.sqlite${suffix}`), { force: true })
  },
})
