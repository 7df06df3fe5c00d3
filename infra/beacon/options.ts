import type { NodeLimits } from '../nodes/nodes.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'

// Apart from the sources: whoever only starts the thread of one must not load the codecs that it reads with.

export interface BeaconSourceOptions {
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

export interface WatchedBeaconSourceOptions extends BeaconSourceOptions {
  /** Hears how the nodes are whenever that has changed. */
  readonly onStatus?: (status: readonly NodeStatus[]) => void
}

/** What the node of this place in the list is called, in messages and in its status. */
export function nodeName(place: number): string {
  return `beacon node ${place + 1}`
}
