import { AppError } from '../../schemas/errors.ts'

/** Failures of ClickHouse that pass by themselves: load, merges that lag, replicas and networks inside the cluster. */
const RETRYABLE_CODES = new Set([
  '159', // TIMEOUT_EXCEEDED
  '202', // TOO_MANY_SIMULTANEOUS_QUERIES
  '203', // NO_FREE_CONNECTION
  '209', // SOCKET_TIMEOUT
  '210', // NETWORK_ERROR
  '236', // ABORTED
  '241', // MEMORY_LIMIT_EXCEEDED
  '242', // TABLE_IS_READ_ONLY
  '243', // NOT_ENOUGH_SPACE
  '252', // TOO_MANY_PARTS
  '279', // ALL_CONNECTION_TRIES_FAILED
  '285', // TOO_FEW_LIVE_REPLICAS
  '286', // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
  '319', // UNKNOWN_STATUS_OF_INSERT
  '394', // QUERY_WAS_CANCELLED
  '425', // SYSTEM_ERROR
  '999', // KEEPER_EXCEPTION
])

/** What ClickHouse refuses when a limit of the question itself is reached. */
const LIMIT_CODES: Readonly<Record<string, string>> = {
  '158': 'The question reads more rows than one may.', // TOO_MANY_ROWS
  '159': 'The question takes longer than one may.', // TIMEOUT_EXCEEDED
}

/** As `toWarehouseError`, of a query with limits: reaching one of them is AppError `query_limit`. */
export function toQueryError(error: unknown): AppError {
  const sentence = LIMIT_CODES[toRefusal(error)?.code ?? '']
  return sentence === undefined ? toWarehouseError(error) : new AppError('query_limit', sentence)
}

const SENTENCE_CHARACTERS_MAX = 300
/** As the operating system says it, in whatever error of the engine. */
const DISK_FULL = /No space left on device|\bENOSPC\b|\(NOT_ENOUGH_SPACE\)/

/**
 * The one mapping of everything that the client throws to AppError `warehouse`: ClickHouse's code and first sentence, or the
 * network's error code. Messages of the network layer hold addresses, so they are not passed on.
 */
export function toWarehouseError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (error instanceof Error && DISK_FULL.test(error.message)) {
    const sentence =
      'The disk that holds the warehouse is full: free some space; what could not be written is tried again.'
    return new AppError('warehouse', sentence, { retryable: true })
  }
  const refusal = toRefusal(error)
  if (refusal !== undefined) {
    const retryable = RETRYABLE_CODES.has(refusal.code)
    return new AppError('warehouse', `ClickHouse refused (${refusal.code}): ${firstSentence(refusal.message)}`, {
      retryable,
    })
  }
  if (isBindError(error)) {
    return new AppError('warehouse', `A query parameter cannot be bound: ${firstSentence(error.message)}`)
  }
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return new AppError('warehouse', `ClickHouse did not answer, or not like ClickHouse${code}.`, { retryable: true })
}

/** By shape: the client has a ClickHouseError, the engine's package brings its own, inserts of bytes throw the plain text. */
function toRefusal(error: unknown): { code: string; message: string } | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string' && /^\d+$/.test(error.code)) {
    return { code: error.code, message: error.message }
  }
  const [, code, message] = /Code: (\d+)\. DB::Exception: (.*)/s.exec(error.message) ?? []
  return code === undefined || message === undefined ? undefined : { code, message }
}

function isBindError(error: unknown): error is Error {
  return (
    error instanceof Error &&
    (error.name === 'ChdbBindError' || /^Unsupported value in query param/.test(error.message))
  )
}

/** Up to the first full stop that ends a sentence; without what looks like an address. */
function firstSentence(message: string): string {
  const sentence = /^.*?[.!?](?=\s|$)/s.exec(message)?.[0] ?? message
  return (
    sentence
      // From the beginning of a word only: from each of its letters on, a long one takes the square of its length.
      .replace(/(?<!\w)\w+:\/\/\S+/g, '(address)')
      .trim()
      .slice(0, SENTENCE_CHARACTERS_MAX)
  )
}
