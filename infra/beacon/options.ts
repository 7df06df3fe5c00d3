import type { NodeLimits } from '../nodes/nodes.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'

// Apart from the sources: whoever only starts the thread of one must not load the codecs that it reads with.

/** Whole states, 306 MB an epoch on mainnet, from which all is computed and proven; or what the node's reward endpoints tell. */
export const REWARD_SOURCES = ['states', 'endpoints'] as const
export type RewardsBy = (typeof REWARD_SOURCES)[number]

export interface BeaconSourceOptions {
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
  /** What rewards are made of; states where nothing is said. */
  readonly rewardsBy?: RewardsBy
  /** Where `keepState` keeps states, of this chain alone; nowhere unless it is given. */
  readonly statesFolder?: string | undefined
  /** How long a node's schedule of forks is believed; some minutes where nothing is said. */
  readonly scheduleFreshMs?: number | undefined
}

export interface WatchedBeaconSourceOptions extends BeaconSourceOptions {
  /** Hears how the nodes are whenever that has changed. */
  readonly onStatus?: (status: readonly NodeStatus[]) => void
}

/** What the node of this place in the list is called, in messages and in its status. */
export function nodeName(place: number): string {
  return `beacon node ${place + 1}`
}
