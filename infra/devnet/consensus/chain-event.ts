/** What GET /eth/v1/events announces, by topic; roots are of blocks and states. */
export type ChainEvent =
  | { readonly topic: 'block'; readonly slot: number; readonly block: Hex }
  | {
      readonly topic: 'head'
      readonly slot: number
      readonly block: Hex
      readonly state: Hex
      readonly epochTransition: boolean
      readonly previousDutyDependentRoot: Hex
      readonly currentDutyDependentRoot: Hex
    }
  | { readonly topic: 'finalized_checkpoint'; readonly block: Hex; readonly state: Hex; readonly epoch: number }
  | {
      readonly topic: 'chain_reorg'
      readonly slot: number
      /** Slots from the common ancestor to the old head. */
      readonly depth: number
      readonly oldHeadBlock: Hex
      readonly newHeadBlock: Hex
      readonly oldHeadState: Hex
      readonly newHeadState: Hex
      readonly epoch: number
    }

/** Delivers events to who listens now; nothing is kept for later. */
export interface ChainEvents {
  publish(event: ChainEvent): void
  /** Returns the function that ends the subscription. */
  subscribe(listener: (event: ChainEvent) => void): () => void
}

export function createChainEvents(): ChainEvents {
  const listeners = new Set<(event: ChainEvent) => void>()
  return {
    publish(event) {
      for (const listener of listeners) listener(event)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}

import type { Hex } from '../../../schemas/eth/hex.ts'
