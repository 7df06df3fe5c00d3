import { AppError } from '../../schemas/errors.ts'
import { NodeGroup } from '../nodes/node-group.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type { BeaconSource } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import { askBatch } from './json-rpc.ts'
import { chainIdQuestion } from './result-shapes.ts'

export interface DepositChainNodesOptions {
  /** Tells which chain it takes deposits from. */
  readonly beacon: Pick<BeaconSource, 'chain'>
  /** The main node, then its fallbacks. */
  readonly executionUrls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

/**
 * Opens the execution nodes of a chain with validators; asks them nothing. One of another chain than the beacon chain takes deposits from
 * is `node_inconsistent`, whichever answers first: what is handed to every node would else go to that one and not to the others. Throws
 * AppError `config` for an address that is none.
 */
export function openDepositChainNodes(options: DepositChainNodesOptions): NodeGroup<ChainNode> {
  const { beacon, executionUrls, log } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const nodes = executionUrls.map((url, i) => new ChainNode(`execution node ${i + 1}`, url, limits))
  const identify = async (node: ChainNode): Promise<string> => {
    const [{ depositChainId }, chainId] = await Promise.all([beacon.chain(), askChainId(node)])
    if (chainId === depositChainId) return `chain ${chainId}`
    throw new AppError(
      'node_inconsistent',
      `${node.name} is on chain ${chainId}, and the beacon node takes deposits from chain ${depositChainId}`,
    )
  }
  return new NodeGroup({ nodes, limits, log, identify })
}

/** Throws AppError of a node fault. */
export async function askChainId(node: ChainNode): Promise<number> {
  return Number(await askBatch(node, (ask) => ask(chainIdQuestion)))
}
