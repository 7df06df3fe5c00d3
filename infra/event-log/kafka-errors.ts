// Node finds only some of the names in this CommonJS package, hence its default export here and in the files beside.
import kafkajs, { type KafkaJSError } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'

export function isKafkaError(error: unknown): error is KafkaJSError {
  return error instanceof kafkajs.KafkaJSError
}

/**
 * The AppError for a failure of Kafka. It carries the kinds of the failure and its causes but neither their messages nor
 * the errors themselves: both hold broker addresses. Errors of other origin come back as they are.
 */
export function toAppError(error: unknown, doing: string): unknown {
  if (!isKafkaError(error)) return error
  const causes = [...causesOf(error)]
  const kinds = new Set(causes.map(kindOf))
  // kafkajs marks "retries used up" as not retriable, but the failure that was retried is: it may pass by tomorrow.
  const retryable = causes.some((cause) => isKafkaError(cause) && cause.retriable)
  return new AppError('event_log', `Kafka: ${doing} failed (${[...kinds].join(' < ')})`, { retryable })
}

/** Runs `work`; failures of Kafka become AppErrors. */
export async function withKafkaErrors<Result>(doing: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw toAppError(error, doing)
  }
}

function* causesOf(error: Error): Iterable<Error> {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) yield cause
}

/** NOT_LEADER_FOR_PARTITION, ECONNREFUSED or, where there is neither, the class. */
function kindOf(error: Error): string {
  if ('type' in error && typeof error.type === 'string') return error.type
  if ('code' in error && typeof error.code === 'string') return error.code
  return error.name
}
