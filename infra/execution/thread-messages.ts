import type { ErrorCode } from '../../schemas/errors.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'
import type { ExecutionSourceOptions } from './source-options.ts'

// What an execution source and its thread tell each other.

/** What the thread is started with. */
export type ThreadStart = Omit<ExecutionSourceOptions, 'log' | 'onStatus'>

/** Methods of a source that are a question with one answer. */
export type Question = 'chainId' | 'head' | 'finalized' | 'blockByNumber' | 'blockByHash'

export type ToThread =
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question; readonly args: readonly unknown[] }
  | { readonly kind: 'close' }

/** An AppError: its class does not survive the way between threads. */
export interface Fault {
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
}

export type FromThread =
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  /** `error` when it is no AppError: a mistake of ours, told as it is. */
  | { readonly kind: 'failed'; readonly id: number; readonly fault?: Fault; readonly error?: unknown }
  | { readonly kind: 'status'; readonly status: readonly NodeStatus[] }
  | { readonly kind: 'log'; readonly level: keyof Log; readonly fields: object; readonly message: string }
