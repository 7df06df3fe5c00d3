import type { ErrorCode } from '../../schemas/errors.ts'
import type { NodeLimits } from '../nodes/nodes.ts'
import type { BeaconSource, ChainNews, FinalChain, FinalizedCheckpoint } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'

// What the source and its thread tell each other.

/** What the thread is started with. */
export interface ThreadStart {
  readonly urls: readonly string[]
  readonly limits: Partial<NodeLimits>
}

/** Methods of a source that are a question with one answer. */
export type Question = Exclude<keyof BeaconSource, 'finalChain' | 'watch' | 'status' | typeof Symbol.asyncDispose>

/** Questions about what is final by a checkpoint. */
export type FinalQuestion = keyof FinalChain

/** Stands in a question's arguments for a set of validators that the thread keeps. */
export interface KeptSet {
  readonly set: number
}

export type ToThread =
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question; readonly args: readonly unknown[] }
  | {
      readonly kind: 'ask final'
      readonly id: number
      readonly checkpoint: FinalizedCheckpoint
      readonly question: FinalQuestion
      readonly args: readonly unknown[]
    }
  /** A set of validators, kept until it is forgotten: questions name it by its number. */
  | { readonly kind: 'keep'; readonly set: number; readonly validators: Uint32Array }
  | { readonly kind: 'forget'; readonly set: number }
  | { readonly kind: 'watch'; readonly id: number }
  | { readonly kind: 'unwatch'; readonly id: number }
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
  | { readonly kind: 'news'; readonly id: number; readonly news: ChainNews }
  | { readonly kind: 'status'; readonly status: readonly NodeStatus[] }
  | { readonly kind: 'log'; readonly level: keyof Log; readonly fields: object; readonly message: string }
