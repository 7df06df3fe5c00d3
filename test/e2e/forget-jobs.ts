import { globSync, rmSync } from 'node:fs'
import { Redis } from 'ioredis'
import { readConfig } from '../../infra/config/config.ts'
import { jobKeysPrefix } from '../../infra/open-ports.ts'
import type { Environment } from './processes.ts'

const SCANNED_AT_ONCE = 1_000

/** Takes from a stopped program all that its queue knows, and nothing of others that share a Redis with it: files or keys that are gone. */
export async function forgetJobs(env: Environment): Promise<number> {
  const { mode } = readConfig(env)
  if (mode.kind === 'servers') return await deleteKeys(mode.redisUrl, jobKeysPrefix(mode))
  const files = globSync(`${mode.jobsFile}*`) // those of its journal too
  for (const file of files) rmSync(file)
  return files.length
}

async function deleteKeys(redisUrl: string, prefix: string): Promise<number> {
  const redis = new Redis(redisUrl)
  try {
    let deleted = 0
    for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: SCANNED_AT_ONCE }))
      if (keys.length > 0) deleted += await redis.del(...keys)
    return deleted
  } finally {
    redis.disconnect()
  }
}
