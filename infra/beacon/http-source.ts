import { NodeGroup } from '../nodes/node-group.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type {
  AttestationRewards,
  Balances,
  BeaconBlock,
  BeaconChain,
  BeaconHead,
  BeaconSource,
  ChainNews,
  FinalizedCheckpoint,
  PendingDeposit,
  ProposerReward,
  SyncRewards,
  ValidatorIdentity,
  ValidatorSet,
  ValidatorStates,
} from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'
import { decodeForeignBlock, presetMatches, toBeaconBlock, toHex } from './block.ts'
import { BlockCache } from './block-cache.ts'
import { askChain, specNumber } from './chain.ts'
import { watchEvents } from './event-stream.ts'
import { nodeName, type WatchedBeaconSourceOptions } from './options.ts'
import { askRoute, missing, pathOf, required } from './route.ts'
import { BEACON, NODE } from './routes.ts'
import { IDS_PER_REQUEST_MAX } from './validator-ids.ts'
import { WideTables } from './wide-tables.ts'

/**
 * Opens the standard Beacon API of one or more nodes; asks them nothing. Throws AppError `config` for an address that is none.
 * A node of another chain than the first that answered is `node_inconsistent` at its first question.
 */
export async function openHttpBeaconSource(options: WatchedBeaconSourceOptions): Promise<BeaconSource> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const nodes = options.urls.map((url, i) => new ChainNode(nodeName(i), url, limits))
  return new HttpBeaconSource({ ...options, nodes, limits })
}

interface Opening extends WatchedBeaconSourceOptions {
  readonly nodes: readonly ChainNode[]
  readonly limits: NodeLimits
}

class HttpBeaconSource implements BeaconSource {
  readonly #nodes: NodeGroup<ChainNode>
  readonly #tables: WideTables
  readonly #log: Log
  readonly #blocks = new BlockCache()
  #chain: BeaconChain | undefined
  #finalizedSlot = 0
  /** Blocks that are being fetched, by id: two askers share one download. */
  readonly #fetching = new Map<string, Promise<BeaconBlock | undefined>>()

  constructor({ nodes, limits, log, onStatus }: Opening) {
    const identify = async (node: ChainNode) => {
      const chain = await askChain(node)
      this.#chain ??= chain
      return `genesis validators root ${chain.genesisValidatorsRoot}, deposit chain ${chain.depositChainId}`
    }
    this.#nodes = new NodeGroup({ nodes, limits, log, identify, onStatus })
    this.#tables = new WideTables(this.#nodes, limits.bodyBytesMax)
    this.#log = log
  }

  async chain(): Promise<BeaconChain> {
    this.#chain ??= await this.#nodes.ask('chain', async (node) => this.#chain ?? askChain(node))
    return this.#chain
  }

  head(): Promise<BeaconHead> {
    return this.#nodes.ask('head', async (node) => {
      const { data } = await required(node, BEACON.getBlockHeader, { blockId: 'head' }, { what: 'a head' })
      return { slot: data.header.message.slot, root: toHex(data.root) }
    })
  }

  async finalized(): Promise<FinalizedCheckpoint> {
    const { slotsPerEpoch } = (await this.chain()).clock
    const { finalized } = await this.#nodes.ask('finality', async (node) => {
      const answer = await required(node, BEACON.getStateFinalityCheckpoints, { stateId: 'head' }, { what: 'finality' })
      return answer.data
    })
    return this.#noteFinal({ epoch: finalized.epoch, root: toHex(finalized.root) }, slotsPerEpoch)
  }

  #noteFinal<Checkpoint extends FinalizedCheckpoint>(checkpoint: Checkpoint, slotsPerEpoch: number): Checkpoint {
    this.#finalizedSlot = Math.max(this.#finalizedSlot, checkpoint.epoch * slotsPerEpoch)
    this.#blocks.markFinal(checkpoint.root)
    return checkpoint
  }

  async blockAt(slot: number): Promise<BeaconBlock | undefined> {
    const final = slot <= this.#finalizedSlot
    const known = final ? this.#blocks.atFinalSlot(slot) : undefined
    if (known !== undefined) return known ?? undefined
    const block = await this.#fetchBlock(
      slot,
      (found) => found.slot === slot,
      (node) => this.#isEmptySlot(node, slot),
    )
    if (block !== undefined && final) this.#blocks.putFinal(block)
    return block
  }

  async blockByRoot(root: string): Promise<BeaconBlock> {
    const known = this.#blocks.get(root)
    if (known !== undefined) return known
    const isAsked = (found: BeaconBlock) => found.root === root
    const block = await this.#fetchBlock(root, isAsked, async () => false)
    if (block === undefined) throw new Error('a block by root is there or the question has failed')
    return block
  }

  async #fetchBlock(
    blockId: string | number,
    isAsked: (block: BeaconBlock) => boolean,
    isEmpty: (node: ChainNode) => Promise<boolean>,
  ): Promise<BeaconBlock | undefined> {
    const id = String(blockId)
    const running = this.#fetching.get(id)
    if (running !== undefined) return running
    const fetched = this.#nodes.ask('blocks', async (node) => {
      const block = await this.#askBlock(node, id)
      if (block === undefined) {
        if (await isEmpty(node)) return undefined
        return missing(node, `block ${id}`)
      }
      if (isAsked(block)) return block
      throw node.fault('node_inconsistent', `answered block ${id} with ${block.root} of slot ${block.slot}`)
    })
    this.#fetching.set(id, fetched)
    try {
      const block = await fetched
      if (block !== undefined) this.#blocks.put(block)
      return block
    } finally {
      this.#fetching.delete(id)
    }
  }

  async #askBlock(node: ChainNode, blockId: string): Promise<BeaconBlock | undefined> {
    const { spec } = await this.chain()
    if (!presetMatches(spec)) return askForeignBlock(node, blockId, specNumber(spec, 'SYNC_COMMITTEE_SIZE'))
    const answer = await askRoute(node, BEACON.getBlockV2, { blockId }, { what: `block ${blockId}`, ssz: true })
    return answer === undefined ? undefined : toBeaconBlock(answer.meta.version, answer.data)
  }

  /**
   * A 404 tells of an empty slot only if the node's head is past the slot. While it is syncing another node is asked first;
   * where there is none, a block that the node lacks for another reason is found out by whoever asked: the next block's
   * parent root does not continue the block before.
   */
  async #isEmptySlot(node: ChainNode, slot: number): Promise<boolean> {
    const { data } = await required(node, NODE.getSyncingStatus, undefined, { what: 'its sync status' })
    return data.headSlot > slot && (!data.isSyncing || this.#nodes.nodes.length === 1)
  }

  validators(slot: number, set: ValidatorSet): Promise<ValidatorStates> {
    return this.#tables.validators(slot, set)
  }

  balances(slot: number, set: ValidatorSet): Promise<Balances> {
    return this.#tables.balances(slot, set)
  }

  async attestationRewards(epoch: number, set: ValidatorSet): Promise<AttestationRewards> {
    const { slotsPerEpoch } = (await this.chain()).clock
    return this.#tables.attestationRewards(epoch, (epoch + 1) * slotsPerEpoch, set)
  }

  syncRewards(blockRoot: string, set: ValidatorSet): Promise<SyncRewards> {
    return this.#tables.syncRewards(blockRoot, set)
  }

  async identify(slot: number, pubkeys: readonly string[]): Promise<readonly ValidatorIdentity[]> {
    const found: ValidatorIdentity[] = []
    for (let from = 0; from < pubkeys.length; from += IDS_PER_REQUEST_MAX) {
      const validatorIds = pubkeys.slice(from, from + IDS_PER_REQUEST_MAX)
      const asked = new Set(validatorIds)
      const rows = await this.#nodes.ask('identities', async (node) => {
        const args = { stateId: slot, validatorIds }
        return (await required(node, BEACON.postStateValidators, args, { what: `the state of slot ${slot}` })).data
      })
      for (const { index, validator } of rows) {
        const pubkey = toHex(validator.pubkey)
        const withdrawalCredentials = toHex(validator.withdrawalCredentials)
        if (asked.has(pubkey)) found.push({ index, pubkey, withdrawalCredentials })
      }
    }
    return found.sort((a, b) => a.index - b.index)
  }

  async pendingDeposits(slot: number): Promise<readonly PendingDeposit[]> {
    const { data } = await this.#nodes.ask('pending deposits', (node) => {
      const options = { what: `the state of slot ${slot}`, ssz: true }
      return required(node, BEACON.getPendingDeposits, { stateId: slot }, options)
    })
    return data.map((deposit) => ({
      pubkey: toHex(deposit.pubkey),
      withdrawalCredentials: toHex(deposit.withdrawalCredentials),
      amountGwei: BigInt(deposit.amount),
      signature: toHex(deposit.signature),
      slot: deposit.slot,
    }))
  }

  async proposerReward(blockRoot: string): Promise<ProposerReward> {
    const { data } = await this.#nodes.ask('proposer rewards', (node) => {
      return required(node, BEACON.getBlockRewards, { blockId: blockRoot }, { what: `rewards of block ${blockRoot}` })
    })
    return {
      attestationsGwei: BigInt(data.attestations),
      syncAggregateGwei: BigInt(data.syncAggregate),
      proposerSlashingsGwei: BigInt(data.proposerSlashings),
      attesterSlashingsGwei: BigInt(data.attesterSlashings),
    }
  }

  async syncCommittee(epoch: number): Promise<Uint32Array> {
    const stateId = epoch * (await this.chain()).clock.slotsPerEpoch
    const { data } = await this.#nodes.ask('sync committees', (node) => {
      return required(node, BEACON.getEpochSyncCommittees, { stateId, epoch }, { what: `the state of slot ${stateId}` })
    })
    return Uint32Array.from(data.validators)
  }

  watch(onNews: (news: ChainNews) => void, signal: AbortSignal): Promise<void> {
    const heard = (news: ChainNews): void => {
      // Without the chain's clock nothing is known to be final yet.
      if (news.kind === 'finalized' && this.#chain !== undefined) this.#noteFinal(news, this.#chain.clock.slotsPerEpoch)
      onNews(news)
    }
    return watchEvents({ nodes: this.#nodes, log: this.#log, onNews: heard, signal })
  }

  status(): readonly NodeStatus[] {
    return this.#nodes.status()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#nodes[Symbol.asyncDispose]()
  }
}

/** A block whose root cannot be computed here, with the root that the node says. */
async function askForeignBlock(node: ChainNode, blockId: string, seats: number): Promise<BeaconBlock | undefined> {
  const path = pathOf(BEACON.getBlockV2, { blockId })
  const answer = await node.request({ method: 'GET', path, accept: 'application/json' })
  if (answer === undefined) return undefined
  const block = decodeForeignBlock(answer.body, seats)
  const { data } = await required(node, BEACON.getBlockRoot, { blockId }, { what: `the root of block ${blockId}` })
  return { ...block, root: toHex(data.root) }
}
