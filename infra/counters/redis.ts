import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import type { Counters, Taken } from '../ports/counters.ts'
import { connectRedis, listenToErrors } from '../redis-errors.ts'

/** A window's key outlives it by this much: the clocks of callers and of Redis differ, and only the callers' clocks count. */
const CLOCK_SLACK_MS = 60_000
/** A call of the gateway waits for its take; rather an error at once than an answer after seconds. */
const COMMAND_TIMEOUT_MS = 2_000
const RETRIES_MAX = 1
/** So long what was done once is known by its name. Whoever waits asks again every two seconds; many names would be much memory. */
const ONCE_MS = 60_000

/**
 * Redis runs a script without anything in between, so look and take are one step. Returns allowed, remaining, resetMs; where `KEYS[2]` names the take,
 * the second time what it did the first.
 */
const TAKE = `
  local function told(answer)
    if KEYS[2] then redis.call('SET', KEYS[2], cjson.encode(answer), 'PX', ARGV[6]) end
    return answer
  end
  local known = KEYS[2] and redis.call('GET', KEYS[2])
  if known then return cjson.decode(known) end
  local cost, limit, windowMs, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local window = redis.call('HMGET', KEYS[1], 'used', 'endsAt')
  local used, endsAt = tonumber(window[1] or 0), tonumber(window[2] or 0)
  local running = now < endsAt
  if not running then used = 0 end
  if used + cost > limit then
    return told({ 0, math.max(limit - used, 0), running and endsAt - now or 0 })
  end
  if not running then
    endsAt = now + windowMs
    redis.call('HSET', KEYS[1], 'endsAt', endsAt)
    redis.call('PEXPIRE', KEYS[1], windowMs + tonumber(ARGV[5]))
  end
  redis.call('HSET', KEYS[1], 'used', used + cost)
  return told({ 1, limit - used - cost, endsAt - now })
`

/** What is sent again after a broken connection is done once: `KEYS[2]` is of this return alone. */
const GIVE_BACK = `
  if not redis.call('SET', KEYS[2], 1, 'NX', 'PX', ARGV[3]) then return 0 end
  local window = redis.call('HMGET', KEYS[1], 'used', 'endsAt')
  local used, endsAt = tonumber(window[1] or 0), tonumber(window[2] or 0)
  if tonumber(ARGV[2]) < endsAt then redis.call('HSET', KEYS[1], 'used', math.max(used - tonumber(ARGV[1]), 0)) end
  return 1
`

/**
 * Counters that all processes share, in Redis. Whether windows survive a restart of Redis is a matter of its own settings
 * (append-only file). Throws AppError `counters` when Redis does not answer in time,
 * and `config` when it refuses the user.
 */
export async function openRedisCounters(options: {
  readonly redisUrl: string
  readonly prefix: string
}): Promise<Counters> {
  const redis = new Redis(options.redisUrl, {
    lazyConnect: true,
    maxRetriesPerRequest: RETRIES_MAX,
    // While there is no connection nobody waits for one.
    enableOfflineQueue: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
  })
  const withErrors = listenToErrors(redis, 'counters')
  await withErrors(() => connectRedis(redis))
  return {
    take: (key, cost, limit, windowMs, now, once) =>
      withErrors(async () => {
        const keys = [options.prefix + key, ...(once === undefined ? [] : [`${options.prefix}taken:${once}`])]
        const asked = [cost, limit, windowMs, now, CLOCK_SLACK_MS, ONCE_MS]
        return toTaken(await redis.eval(TAKE, keys.length, ...keys, ...asked))
      }),
    giveBack: (key, units, now) =>
      withErrors(async () => {
        const once = `${options.prefix}given:${randomUUID()}`
        await redis.eval(GIVE_BACK, 2, options.prefix + key, once, units, now, ONCE_MS)
      }),
    ping: () => withErrors(async () => void (await redis.ping())),
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  }
}

function toTaken(answer: unknown): Taken {
  const [allowed, remaining, resetMs] = answer as [number, number, number]
  return { allowed: allowed === 1, remaining, resetMs }
}
