import { bytesOf } from '../../schemas/eth/hex.ts'
import type { BeaconSource } from '../ports/beacon-source.ts'
import type { StakingFacts, StakingNode } from '../ports/staking-node.ts'
import { askChainId, type DepositChainNodesOptions, openDepositChainNodes } from './deposit-chain-nodes.ts'
import { askSimulation } from './simulation.ts'
import { askHasCode, askStorage, askTerms } from './transaction-terms.ts'

export interface StakingNodeOptions extends DepositChainNodesOptions {
  readonly beacon: Pick<BeaconSource, 'chain' | 'head'>
}

/**
 * Opens the nodes of a chain for staking; asks them nothing. An execution node of another chain than the beacon chain takes deposits from
 * is `node_inconsistent`. Throws AppError `config` for an address that is none.
 */
export async function openStakingNode(options: StakingNodeOptions): Promise<StakingNode> {
  const { beacon } = options
  const group = openDepositChainNodes(options)
  let facts: StakingFacts | undefined

  async function readFacts(): Promise<StakingFacts> {
    const [chain, chainId] = await Promise.all([beacon.chain(), group.ask('chain', askChainId)])
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
