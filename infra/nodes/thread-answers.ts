import { AppError, type ErrorCode } from '../../schemas/errors.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'

// What the thread of any source tells.

/** An AppError: its class does not survive the way between threads. */
interface Fault {
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
}

export type ThreadAnswer =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | ThreadFailure
  | { readonly kind: 'status'; readonly status: readonly NodeStatus[] }
  | { readonly kind: 'log'; readonly level: keyof Log; readonly fields: object; readonly message: string }

/** `error` when it is no AppError: a mistake of ours, told as it is. */
export interface ThreadFailure {
  readonly kind: 'failed'
  readonly id: number
  readonly fault?: Fault
  readonly error?: unknown
}

/** The failure of a question, as a thread tells it. */
export function toFailure(id: number, error: unknown): ThreadFailure {
  if (!(error instanceof AppError)) return { kind: 'failed', id, error }
  const { code, message, retryable } = error
  return { kind: 'failed', id, fault: { code, message, retryable } }
}

/** What has failed there, to be thrown here. */
export function errorOf({ fault, error }: ThreadFailure): unknown {
  return fault === undefined ? error : new AppError(fault.code, fault.message, fault)
}
