import { hash, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type Refusal, refuse } from '../../schemas/routes/envelope.ts'
import { IDEMPOTENCY_KEY_PATTERN } from '../../schemas/routes/idempotency-key.ts'

const IDEMPOTENCY_KEY = new RegExp(IDEMPOTENCY_KEY_PATTERN)

/** What tells a request from others. */
export interface NamedRequest {
  readonly status: 'named'
  /** SHA-256, lower-case hex: clients cannot name what a request without a key gets. */
  readonly id: string
  /** Whether its client has named it, and may send it again. */
  readonly isRepeatable: boolean
}

/** By its `Idempotency-Key`, where it has one; `places` is within what that names one request alone. */
export function nameRequest(headers: IncomingHttpHeaders, ...places: readonly string[]): NamedRequest | Refusal {
  const key = headers['idempotency-key']
  if (key === undefined) return { status: 'named', id: hash('sha256', randomUUID(), 'hex'), isRepeatable: false }
  if (typeof key !== 'string' || !IDEMPOTENCY_KEY.test(key))
    return refuse('400', 'Idempotency-Key is 1 to 255 printable characters without blanks')
  return { status: 'named', id: hash('sha256', JSON.stringify(['key', ...places, key]), 'hex'), isRepeatable: true }
}
