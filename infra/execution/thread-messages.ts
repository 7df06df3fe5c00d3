import type { ExecutionSourceOptions } from './source-options.ts'

// What an execution source and its thread tell each other.

/** What the thread is started with. */
export type ThreadStart = Omit<ExecutionSourceOptions, 'log' | 'onStatus'>

/** Methods of a source that are a question with one answer. */
export type Question = 'chainId' | 'head' | 'finalized' | 'blockByNumber' | 'blockByHash' | 'balanceChanges'

export type ToThread =
  | { readonly kind: 'ask'; readonly id: number; readonly question: Question; readonly args: readonly unknown[] }
  | { readonly kind: 'close' }
