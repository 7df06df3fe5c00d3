// Node finds only some of the names in this CommonJS package, hence its default export here and in the files beside.
import kafkajs, { type KafkaJSAggregateError, type KafkaJSError } from 'kafkajs'
import { AppError } from '../../schemas/errors.ts'

export function isKafkaError(error: unknown): error is KafkaJSError {
  return error instanceof kafkajs.KafkaJSError
}

/** What kafkajs asks of a connection that has closed meanwhile, or never was one to a Kafka, fails with this plain error. */
const NOT_CONNECTED = 'Broker not connected'

function isNotConnected(error: unknown): error is Error {
  return error instanceof Error && error.message === NOT_CONNECTED
}

/** Of several topics at once; kafkajs has it beside its other errors. */
export function isAggregateError(error: unknown): error is KafkaJSAggregateError {
  return error instanceof kafkajs.KafkaJSAggregateError
}

/**
 * The AppError for a failure of Kafka. It carries the kinds of the failure and its causes but neither their messages nor
 * the errors themselves: both hold broker addresses. Errors of other origin come back as they are.
 */
export function toAppError(error: unknown, doing: string): unknown {
  if (isNotConnected(error)) {
    return new AppError('event_log', `Kafka: ${doing} failed (${NOT_CONNECTED})`, { retryable: true })
  }
  if (!isKafkaError(error) && !isAggregateError(error)) return error
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
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    yield cause
    if (isAggregateError(cause)) for (const one of cause.errors) if (one instanceof Error) yield one
  }
}

/** NOT_LEADER_FOR_PARTITION, ECONNREFUSED or, where there is neither, the class. */
function kindOf(error: Error): string {
  if ('type' in error && typeof error.type === 'string') return error.type
  if ('code' in error && typeof error.code === 'string') return error.code
  return error.name
}
