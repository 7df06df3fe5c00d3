import type { NodeLimits } from '../nodes/nodes.ts'
import type { ThreadAnswer } from '../nodes/thread-answers.ts'
import type { BeaconSource, ChainNews, FinalChain, FinalizedCheckpoint } from '../ports/beacon-source.ts'
import type { RewardsBy } from './options.ts'

// What the source and its thread tell each other.

/** What the thread is started with. */
export interface ThreadStart {
  readonly urls: readonly string[]
  readonly limits: Partial<NodeLimits>
  readonly rewardsBy: RewardsBy
  readonly statesFolder: string | undefined
  readonly scheduleFreshMs: number | undefined
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

export type FromThread = ThreadAnswer | { readonly kind: 'news'; readonly id: number; readonly news: ChainNews }
