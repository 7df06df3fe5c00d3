import { AppError, type ErrorCode } from '../schemas/errors.ts'

/** The setting by which operators know the server. */
const SETTING = 'REDIS_URL'
/** What Redis answers to a name or a password that is wrong, or missing. */
const REFUSED_USER: ReadonlySet<string> = new Set(['NOAUTH', 'WRONGPASS', 'NOPERM'])
/** What ioredis says when its `commandTimeout` has passed. */
const TIMED_OUT = 'Command timed out'

/** What is needed here of a client. */
interface RedisClient {
  on(event: 'error' | 'ready', listener: (error: unknown) => void): unknown
  connect(): Promise<void>
  disconnect(): void
}

/** Runs `work`; failures become AppErrors, see `listenToErrors`. */
export type WithRedisErrors = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * What runs work on this connection; failures become AppErrors of `code`. They carry the kind of the failure but neither its
 * message nor the error itself, which hold the address of the server. All are retryable: Redis is away, restarting, or busy.
 * Commands learn only that there is no connection; why is told to this listener, without which ioredis prints addresses.
 */
export function listenToErrors(redis: Pick<RedisClient, 'on'>, code: ErrorCode): WithRedisErrors {
  let last: unknown
  redis.on('error', (error: unknown) => {
    last = error
  })
  redis.on('ready', () => {
    last = undefined
  })
  return async (work) => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AppError) throw error
      const kind = kindOf(error) ?? kindOf(last) ?? generalKindOf(error)
      throw new AppError(code, `Redis (${SETTING}): ${kind}`, { retryable: true })
    }
  }
}

/** Connects for the first time. Throws AppError `config` where Redis refuses the user: no waiting makes that good. */
export async function connectRedis(redis: RedisClient): Promise<void> {
  let refusal: string | undefined
  redis.on('error', (error: unknown) => {
    const kind = kindOf(error)
    if (kind !== undefined && REFUSED_USER.has(kind)) refusal = kind
  })
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    if (refusal === undefined) throw error
    throw new AppError(
      'config',
      `Redis refuses the user or the password of ${SETTING}, or misses one (${refusal}); e.g. redis://user:password@127.0.0.1:6379.`,
    )
  }
}

/** ECONNREFUSED, or NOAUTH (the first word of an answer of Redis); undefined where the error is a general one. */
function kindOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  return error.name === 'ReplyError' ? error.message.split(' ')[0] : undefined
}

function generalKindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure'
  if (error.message === TIMED_OUT) return 'no answer in time'
  return error.name === 'Error' ? 'no connection' : error.name
}
