import { AppError, type ErrorCode } from '../schemas/errors.ts'

/**
 * Runs `work`; failures become AppErrors of `code`. They carry the kind of the failure but neither its message nor the error
 * itself, which hold the address of the server. All are retryable: Redis is away, restarting, or busy.
 */
export async function withRedisErrors<Result>(code: ErrorCode, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError ? error : new AppError(code, `Redis: ${kindOf(error)}`, { retryable: true })
  }
}

/** ECONNREFUSED, NOAUTH (the first word of an answer of Redis), or the class of the error. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure'
  if ('code' in error && typeof error.code === 'string') return error.code
  return error.name === 'ReplyError' ? (error.message.split(' ')[0] ?? error.name) : error.name
}
