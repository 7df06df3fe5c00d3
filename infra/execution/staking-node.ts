import { AppError } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { NodeGroup } from '../nodes/node-group.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type { BeaconSource } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import type { StakingFacts, StakingNode } from '../ports/staking-node.ts'
import { openBatch, toFault } from './json-rpc.ts'
import { chainIdQuestion } from './result-shapes.ts'
import { askSimulation } from './simulation.ts'
import { askHasCode, askStorage, askTerms } from './transaction-terms.ts'

export interface StakingNodeOptions {
  readonly beacon: Pick<BeaconSource, 'chain' | 'head'>
  /** The main node, then its fallbacks. */
  readonly executionUrls: readonly string[]
  readonly log: Log
  readonly limits?: Partial<NodeLimits>
}

/**
 * Opens the nodes of a chain for staking; asks them nothing. A node of another chain than the first that answered is
 * `node_inconsistent`, and so is an execution chain that the beacon chain takes no deposits from. Throws AppError `config` for an
 * address that is none.
 */
export async function openStakingNode(options: StakingNodeOptions): Promise<StakingNode> {
  const { beacon, executionUrls, log } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const nodes = executionUrls.map((url, i) => new ChainNode(`execution node ${i + 1}`, url, limits))
  const group = new NodeGroup({ nodes, limits, log, identify: async (node) => `chain ${await askChainId(node)}` })
  let facts: StakingFacts | undefined

  async function readFacts(): Promise<StakingFacts> {
    const [chain, chainId] = await Promise.all([beacon.chain(), group.ask('chain', askChainId)])
    if (chain.depositChainId !== chainId) {
      throw new AppError(
        'node_inconsistent',
        `the beacon node takes deposits from chain ${chain.depositChainId}, the execution node is on chain ${chainId}`,
      )
    }
    const [genesis] = chain.forks
    if (genesis === undefined) throw new Error('a chain begins with a fork')
    return {
      chainId,
      genesisForkVersion: bytesOf(genesis.version),
      depositContract: chain.depositContractAddress,
      clock: chain.clock,
    }
  }

  return {
    async facts() {
      facts ??= await readFacts()
      return facts
    },
    headSlot: async () => (await beacon.head()).slot,
    hasCode: (address) => group.ask('code', (node) => askHasCode(node, address)),
    storageAt: (address, slot) => group.ask('storage', (node) => askStorage(node, address, slot)),
    terms: (sender) => group.ask('terms', (node) => askTerms(node, sender)),
    simulate: (call) => group.ask('gas', (node) => askSimulation(node, call)),
    [Symbol.asyncDispose]: () => group[Symbol.asyncDispose](),
  }
}

async function askChainId(node: ChainNode): Promise<number> {
  try {
    return Number(await openBatch(node)(chainIdQuestion))
  } catch (error) {
    throw toFault(node, error)
  }
}
