import type { LogsCheck } from '../../schemas/events/execution-block.ts'
import type { NodeLimits } from '../nodes/nodes.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'
import type { Binding } from './binding.ts'

// Apart from the sources: whoever only starts the thread of one must not load what it checks blocks with.

export interface ExecutionSourceOptions {
  /** The main node, then its fallbacks. */
  readonly urls: readonly string[]
  readonly log: Log
  /** Whether a block that its hash does not commit to as Ethereum's does is refused. */
  readonly binding: Binding
  /** What logs are checked against; the receipts root where nothing is said. */
  readonly check?: LogsCheck | undefined
  /** Logs are asked for instead of receipts; what becomes of transactions is not known then. Not with `check: 'receipts'`. */
  readonly logsOnly?: boolean | undefined
  readonly limits?: Partial<NodeLimits>
  /** Hears how the nodes are whenever that has changed. */
  readonly onStatus?: ((status: readonly NodeStatus[]) => void) | undefined
}

/** What the node of this place in the list is called, in messages and in its status. */
export function executionNodeName(place: number): string {
  return `execution node ${place + 1}`
}
