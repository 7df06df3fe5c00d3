import type { ErrorCode } from '../../schemas/errors.ts'
import type { DifferenceKind } from '../../schemas/events/beacon-epoch.ts'

/** What is known of a node from the questions that it was asked: for those who watch over the program. */
export interface NodeStatus {
  /** "beacon node 1": never an address. */
  readonly name: string
  /** `unknown` until it was asked; `away` from the question that it failed in all tries until it answers one. */
  readonly state: 'unknown' | 'up' | 'away'
  /** Unix time of the last change of state, ms. */
  readonly since?: number
  /** Why it is away. */
  readonly fault?: ErrorCode
  /** What it has told otherwise than figures go by; absent where nothing was. */
  readonly differences?: readonly NodeDifference[]
}

/** What a node tells otherwise than what is proven: figures do not go by it. */
export interface NodeDifference {
  readonly what: DifferenceKind
  /** Name and version of its client, as it tells them itself; empty where it does not. */
  readonly client: string
  /** How often, since the process has started. */
  readonly times: number
}
