/** What a caller may do about a failure; everything that fits none of these crashes the process. */
export const ERROR_CODES = [
  'config', // a setting is wrong: the message names it, what is wrong, and an example
  'usage', // the operator asked for something that cannot be done now; the message says what to do
  'interrupted', // the operator has ended it: the message says what was left, and how to go on
  'node_unreachable', // timeouts, refused connections, 5xx: try again, perhaps elsewhere
  'node_lagging', // the node does not have it yet (or no longer): try again later or elsewhere
  'node_malformed', // the answer is truncated or not of the documented shape: try again, then elsewhere
  'node_refused', // HTTP 4xx to a question that is well-formed: another node may answer it, this one will not
  'node_inconsistent', // the answer contradicts what commits to it (receipts root, chain id): another node or nobody
  'undecodable', // an event of the log cannot be decoded or processed: dead letter
  'warehouse',
  'query_limit', // a question would take more of the warehouse than it was allowed: ask for less at a time
  'event_log',
  'lease_lost', // another may be writing what this lease stood for: get the lease again, read what the log says, then go on
  'job_queue',
  'counters',
  'mail', // nobody has taken a message for somebody: try again later
  'webhook', // a receiver has not taken what it was to be told: try again later
  'key_vault', // retryable: its process died or forgot prepared keys, ask again; otherwise its file is damaged
  'validator_client', // it does not answer as it should, or is another one than before: keys and transactions wait for it
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/**
 * The one error class: a failure that somebody can act on. `retryable` tells whether the same call may succeed later.
 * The message is shown to operators: it holds no token, key or upstream URL.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean

  constructor(code: ErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.retryable = options.retryable ?? false
  }
}

const NODE_FAULTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'node_unreachable',
  'node_lagging',
  'node_malformed',
  'node_refused',
  'node_inconsistent',
])

/** Whether the error tells of a node that did not answer as it should; waiting or another node may help. */
export function isNodeFault(error: unknown): error is AppError {
  return error instanceof AppError && NODE_FAULTS.has(error.code)
}
