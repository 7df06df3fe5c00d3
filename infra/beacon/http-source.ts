import { AppError } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { unknownFork } from '../../schemas/eth/unknown-fork.ts'
import { giveBackWhole } from '../../schemas/memory.ts'
import { NodeGroup } from '../nodes/node-group.ts'
import { ChainNode, DEFAULT_LIMITS, type NodeLimits } from '../nodes/nodes.ts'
import type {
  BeaconBlock,
  BeaconChain,
  BeaconHead,
  BeaconSource,
  BlockHeader,
  ChainNews,
  EpochOfBranch,
  FinalChain,
  FinalizedCheckpoint,
  KeepingOutcome,
  StakingQueues,
} from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'
import { refuseOptimistic } from './answer-flags.ts'
import { decodeForeignBlock, presetMatches, toBeaconBlock } from './block.ts'
import { BlockCache } from './block-cache.ts'
import { specNumber } from './chain.ts'
import { CheckpointHolders } from './checkpoint-holders.ts'
import { watchEvents } from './event-stream.ts'
import { ExplainedEpochs } from './explained-epochs.ts'
import { HttpFinalChain } from './final-chain.ts'
import { askHeader } from './header.ts'
import { KeptStates } from './kept-states.ts'
import { KnownChain } from './known-chain.ts'
import { nodeName, type WatchedBeaconSourceOptions } from './options.ts'
import { OtherNodes } from './other-nodes.ts'
import { askRoute, missing, pathOf, required } from './route.ts'
import { BEACON, NODE } from './routes.ts'
import { askQueues } from './staking-queues.ts'
import { ToldRewards } from './told-rewards.ts'
import { type Ask, WideTables } from './wide-tables.ts'

/**
 * Opens the standard Beacon API of one or more nodes; asks them nothing. Throws AppError `config` for an address that is none.
 * A node of another chain than the first that answered is `node_inconsistent` at its first question.
 */
export async function openHttpBeaconSource(options: WatchedBeaconSourceOptions): Promise<BeaconSource> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const nodes = options.urls.map((url, i) => new ChainNode(nodeName(i), url, limits))
  return new HttpBeaconSource({ ...options, nodes, limits })
}

/** Checkpoints of which it is remembered who holds them: the newest, and those of epochs that are still being read. */
const CHECKPOINTS_MAX = 4

interface FetchBlock {
  readonly ask: Ask
  /** Who asks with the same key shares the answer; the block's id unless given. */
  readonly key?: string
  readonly isAsked: (block: BeaconBlock) => boolean
  /** Whether a 404 of the node tells that there is no such block. */
  readonly isEmpty: (node: ChainNode) => Promise<boolean>
}

interface Opening extends WatchedBeaconSourceOptions {
  readonly nodes: readonly ChainNode[]
  readonly limits: NodeLimits
}

class HttpBeaconSource implements BeaconSource {
  readonly #nodes: NodeGroup<ChainNode>
  readonly #tables: WideTables
  readonly #explained: ExplainedEpochs | undefined
  readonly #otherNodes: OtherNodes
  readonly #toldRewards: ToldRewards
  readonly #log: Log
  readonly #blocks = new BlockCache()
  /** By epoch and root of the checkpoint. */
  readonly #holders = new Map<string, CheckpointHolders>()
  readonly #chain: KnownChain
  /** Blocks that are being fetched: two askers share one download. */
  readonly #fetching = new Map<string, Promise<BeaconBlock | undefined>>()

  constructor({ nodes, limits, rewardsBy = 'states', statesFolder, log, onStatus, scheduleFreshMs }: Opening) {
    const identify = async (node: ChainNode) => {
      const { depositChainId } = await this.#chain.identify(node)
      return `deposit chain ${depositChainId}`
    }
    this.#nodes = new NodeGroup({ nodes, limits, log, identify, onStatus })
    this.#chain = new KnownChain({ ask: this.#ask, log, freshMs: scheduleFreshMs, doubtFreshMs: scheduleFreshMs })
    this.#tables = new WideTables(limits.bodyBytesMax)
    if (rewardsBy === 'states') {
      const kept = statesFolder === undefined ? undefined : new KeptStates({ folder: statesFolder, log })
      this.#explained = new ExplainedEpochs({ log, kept, nodes: nodes.length, chain: () => this.chain() })
    }
    const compared = { nodes: this.#nodes, log }
    this.#otherNodes = new OtherNodes(compared)
    this.#toldRewards = new ToldRewards({
      ...compared,
      tables: this.#tables,
      slotsPerEpoch: () => this.#slotsPerEpoch(),
    })
    this.#log = log
  }

  readonly #ask: Ask = (kind, question) => this.#nodes.ask(kind, question)

  chain(): Promise<BeaconChain> {
    return this.#chain.get()
  }

  async #slotsPerEpoch(): Promise<number> {
    return (await this.chain()).clock.slotsPerEpoch
  }

  head(): Promise<BeaconHead> {
    return this.#nodes.ask('head', async (node) => {
      const { data } = await required(node, BEACON.getBlockHeader, { blockId: 'head' }, { what: 'a head' })
      return { slot: data.header.message.slot, root: hexOf(data.root) }
    })
  }

  async finalized(): Promise<FinalizedCheckpoint> {
    return this.#nodes.ask('finality', async (node) => {
      const what = 'finality'
      const answer = await required(node, BEACON.getStateFinalityCheckpoints, { stateId: 'head' }, { what })
      refuseOptimistic(node, what, answer.flags)
      const { epoch, root } = answer.data.finalized
      return this.#noteFinal({ epoch, root: hexOf(root), toldBy: this.#nodes.nodes.indexOf(node) })
    })
  }

  #noteFinal<Checkpoint extends FinalizedCheckpoint>(checkpoint: Checkpoint): Checkpoint {
    this.#blocks.markFinal(checkpoint.root)
    return checkpoint
  }

  async blockAt(slot: number): Promise<BeaconBlock | undefined> {
    const known = this.#blocks.atFinalSlot(slot)
    if (known !== undefined) return known ?? undefined
    return this.#fetchBlock(slot, {
      ask: this.#ask,
      isAsked: (found) => found.slot === slot,
      isEmpty: (node) => this.#isEmptySlot(node, slot),
    })
  }

  async blockByRoot(root: string): Promise<BeaconBlock> {
    const known = this.#blocks.get(root)
    if (known !== undefined) return known
    const isAsked = (found: BeaconBlock) => found.root === root
    const block = await this.#fetchBlock(root, { ask: this.#ask, isAsked, isEmpty: async () => false })
    if (block === undefined) throw new Error('a block by root is there or the question has failed')
    return block
  }

  async headerByRoot(root: string): Promise<BlockHeader> {
    return this.#blocks.get(root) ?? (await this.#nodes.ask('headers', (node) => askHeader(node, root)))
  }

  queues(own: readonly string[]): Promise<StakingQueues> {
    const parts = { tables: this.#tables, log: this.#log, chain: () => this.chain(), own }
    return this.#nodes.ask('queues', (node) => askQueues(node, parts))
  }

  async keepState(epoch: EpochOfBranch): Promise<KeepingOutcome> {
    return (await this.#explained?.keep(epoch, this.#ask)) ?? 'absent'
  }

  async dropStatesBefore(epoch: number, endRoot: string): Promise<void> {
    await this.#explained?.drop(epoch, endRoot)
  }

  /** What was read of the slot last may be of another fork, which does no harm: a hint proves nothing. */
  async #blockHint(slot: number, ask: Ask): Promise<BeaconBlock | undefined> {
    const final = this.#blocks.atFinalSlot(slot)
    if (final !== undefined) return final ?? undefined
    const known = this.#blocks.lastAt(slot) ?? (await this.#fetching.get(String(slot)))
    if (known !== undefined) return known
    const isAsked = (found: BeaconBlock) => found.slot === slot
    return this.#fetchBlock(slot, { ask, key: `hint ${slot}`, isAsked, isEmpty: async () => true })
  }

  finalChain(checkpoint: FinalizedCheckpoint): FinalChain {
    return new HttpFinalChain({
      checkpoint,
      nodes: this.#nodes,
      holders: this.#holdersOf(checkpoint),
      tables: this.#tables,
      explained: this.#explained,
      otherNodes: this.#otherNodes,
      toldRewards: this.#toldRewards,
      slotsPerEpoch: () => this.#slotsPerEpoch(),
      seats: async () => specNumber((await this.chain()).spec, 'SYNC_COMMITTEE_SIZE'),
      blockHint: (slot, ask) => this.#blockHint(slot, ask),
    })
  }

  #holdersOf({ epoch, root }: FinalizedCheckpoint): CheckpointHolders {
    const key = `${epoch} ${root}`
    const known = this.#holders.get(key)
    if (known !== undefined) return known
    const slotOf = async () => {
      const unknown = unknownFork((await this.chain()).spec)
      const isKnown = unknown === undefined || epoch < unknown.epoch
      return (await (isKnown ? this.blockByRoot(root) : this.headerByRoot(root))).slot
    }
    const lastSlot = async () => firstSlotOfEpoch((await this.chain()).clock, epoch)
    const holders = new CheckpointHolders(root, slotOf, lastSlot)
    this.#holders.set(key, holders)
    const [oldest] = this.#holders.keys()
    if (this.#holders.size > CHECKPOINTS_MAX && oldest !== undefined) this.#holders.delete(oldest)
    return holders
  }

  async #fetchBlock(
    blockId: string | number,
    { ask, isAsked, isEmpty, key = String(blockId) }: FetchBlock,
  ): Promise<BeaconBlock | undefined> {
    const id = String(blockId)
    const running = this.#fetching.get(key)
    if (running !== undefined) return running
    const fetched = ask('blocks', async (node) => {
      const block = await this.#askBlock(node, id)
      if (block === undefined) {
        if (await isEmpty(node)) return undefined
        return missing(node, `block ${id}`)
      }
      if (isAsked(block)) return block
      throw node.fault('node_inconsistent', `answered block ${id} with ${block.root} of slot ${block.slot}`)
    })
    this.#fetching.set(key, fetched)
    try {
      const block = await fetched
      if (block !== undefined) this.#blocks.put(block)
      return block
    } finally {
      this.#fetching.delete(key)
    }
  }

  async #askBlock(node: ChainNode, blockId: string): Promise<BeaconBlock | undefined> {
    const { spec } = await this.chain()
    if (!presetMatches(spec)) return askForeignBlock(node, blockId, specNumber(spec, 'SYNC_COMMITTEE_SIZE'))
    try {
      const answer = await askRoute(node, BEACON.getBlockV2, { blockId }, { what: `block ${blockId}`, ssz: true })
      if (answer === undefined) return undefined
      const block = toBeaconBlock(answer.meta.version, answer.data)
      if (answer.bytes !== undefined) giveBackWhole([answer.bytes])
      return block
    } catch (error) {
      if (isUnreadable(error)) this.#chain.doubt()
      throw error
    }
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

  watch(onNews: (news: ChainNews) => void, signal: AbortSignal): Promise<void> {
    const heard = (news: ChainNews): void => {
      if (news.kind === 'finalized') this.#noteFinal(news)
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

/** Whether a node has answered with something else than what was expected. */
function isUnreadable(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'node_malformed' || error.code === 'node_inconsistent')
}

/** A block whose root cannot be computed here, with the root that the node says. */
async function askForeignBlock(node: ChainNode, blockId: string, seats: number): Promise<BeaconBlock | undefined> {
  const path = pathOf(BEACON.getBlockV2, { blockId })
  const answer = await node.request({ method: 'GET', path, accept: 'application/json' })
  if (answer === undefined) return undefined
  const block = decodeForeignBlock(answer.body, seats)
  const { data } = await required(node, BEACON.getBlockRoot, { blockId }, { what: `the root of block ${blockId}` })
  return { ...block, root: hexOf(data.root) }
}
