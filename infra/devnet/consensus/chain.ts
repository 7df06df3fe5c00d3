import type { BeaconConfig } from '@lodestar/config'
import { MAX_VOLUNTARY_EXITS, SLOTS_PER_EPOCH } from '@lodestar/params'
import type { CachedBeaconStateFulu } from '@lodestar/state-transition'
import type { phase0 } from '@lodestar/types'
import { bytesOf, type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import type { BlockTurn, ExecutionEngine } from '../engine.ts'
import type { Incident, Scenario } from '../scenario.ts'
import { advanceTo } from './advance.ts'
import { attestationRewards, type TransitionFacts } from './attestation-rewards.ts'
import { blockTurn, payloadRequest, produceBlock } from './block.ts'
import type { ChainEvents } from './chain-event.ts'
import { createDuties, type Duties } from './duties.ts'
import type { Genesis } from './genesis.ts'
import { type BlockRecord, History, type Past, type SlotRecord } from './history.ts'
import { IncidentQueue, noOperations, type Operations } from './incidents.ts'
import { createSigner, type Signer } from './signer.ts'
import { slotRecordOf } from './slot-record.ts'
import type { ThreadSigner } from './thread-signer.ts'
import { attended, type OutsideKeys, ValidatorKeys } from './validator-keys.ts'
import { castVotes, emptyVotePool, takeAttestations, type VotePool } from './vote-pool.ts'

/** Exits that came from outside; the chain asks for them block by block. */
export interface ExitPool {
  /** Those that the block of the state's slot contains, at most `limit`. */
  take(state: CachedBeaconStateFulu, limit: number): readonly phase0.SignedVoluntaryExit[]
}

export interface ChainOptions {
  readonly seed: string
  readonly scenario: Scenario
  readonly genesis: Genesis
  readonly engine: ExecutionEngine
  readonly events: ChainEvents
  readonly exits: ExitPool
  /** Who runs the validators that are not the devnet's. */
  readonly outside: OutsideKeys
  /** Where the chain goes on; at genesis unless given. */
  readonly restart?: Restart | undefined
  /** Signs blocks and reveals; without one the chain does. */
  readonly thread?: ThreadSigner | undefined
  /** Where readers find what is no longer in memory. */
  readonly past?: Past | undefined
}

/** What the next slot depends on besides the state and its block. Plain data. */
export interface ChainCheckpoint {
  readonly slot: number
  readonly pool: VotePool
  readonly incidents: readonly Incident[]
  readonly reorgs: readonly Reorg[]
  readonly finalizedEpochAnnounced: number
}

export interface Restart {
  readonly checkpoint: ChainCheckpoint
  /** The state at the checkpoint's slot, and the block that it follows. */
  readonly state: CachedBeaconStateFulu
  readonly head: BlockRecord
}

/** Slots that are looked at for the next block; more are seldom missed in a row. */
const TURNS_AHEAD_MAX = 4

type Reorg = Extract<Incident, { kind: 'reorg' }>

/** Where the chain goes on once the blocks after it are orphaned. */
interface ForkPoint {
  readonly state: CachedBeaconStateFulu
  readonly pool: VotePool
  readonly executionHash: Hex
  readonly firstSlot: number
  readonly depth: number
  /**
   * Whether it goes on over the ends of epochs. Then nobody votes for its blocks: votes for the targets that it has would be worth
   * nothing on the other branch, and finality that it reached would be taken back.
   */
  readonly isDeep: boolean
}

/** What takes the place of a fork's blocks. */
interface Branch {
  /** The fork's slots, without blocks. */
  readonly emptied: readonly CachedBeaconStateFulu[]
  /** Of the slot whose block comes next. */
  readonly state: CachedBeaconStateFulu
}

/** Deeper reorgs do not fit into an epoch, whose first block they leave where it is. */
const DEPTH_WITHIN_EPOCH_MAX = SLOTS_PER_EPOCH - 2

/** Produces one slot after the other: a block on both layers, or none. One call at a time. */
export class Chain {
  readonly history: History
  readonly config: BeaconConfig
  readonly #engine: ExecutionEngine
  readonly #events: ChainEvents
  readonly #exits: ExitPool
  readonly #keys: ValidatorKeys
  readonly #duties: Duties
  readonly #signer: Signer
  readonly #incidents: IncidentQueue
  /** The state of the head that readers see, and the one that the next slot builds on; they differ within a reorg only. */
  #headState: CachedBeaconStateFulu
  #tip: CachedBeaconStateFulu
  #pool: VotePool
  #executionHash: Hex
  #fork: ForkPoint | undefined
  #orphanVotes: VotePool = emptyVotePool
  #reorgs: Reorg[]
  #finalizedEpochAnnounced: number

  constructor(options: ChainOptions) {
    const { genesis, seed, scenario, engine } = options
    this.config = genesis.config
    this.#engine = engine
    this.#events = options.events
    this.#exits = options.exits
    const { pubkeyCache } = genesis.state.epochCtx
    this.#keys = new ValidatorKeys(pubkeyCache, genesis.state.validators.length, options.outside)
    this.#duties = attended(createDuties(seed, scenario), this.#keys)
    this.#signer = createSigner(seed, genesis.config, { thread: options.thread, keys: this.#keys })
    const { restart } = options
    const { state, checkpoint } = restart ?? { state: genesis.state, checkpoint: genesisCheckpoint(scenario) }
    this.#incidents = new IncidentQueue(seed, checkpoint.incidents, this.#signer)
    this.#reorgs = [...checkpoint.reorgs]
    this.#finalizedEpochAnnounced = checkpoint.finalizedEpochAnnounced
    this.#pool = checkpoint.pool
    this.#headState = state
    this.#tip = state
    const genesisBlock = genesisRecord(genesis, engine.genesisHash)
    const head = restart?.head ?? genesisBlock
    this.#executionHash = head.executionHash
    this.history = new History(genesisBlock, slotRecordOf(state, head), options.past)
    if (restart === undefined) this.#vote()
    this.#signer.prepareReveals(this.headSlot, state.epochCtx.proposers)
    this.#prepareReveals(this.headSlot)
  }

  get headSlot(): number {
    return this.history.headSlot
  }

  /** The state at the head slot; not to be changed. */
  get state(): CachedBeaconStateFulu {
    return this.#headState
  }

  /**
   * Plays the slot after the head slot and announces what it brought. Readers see the old head until the new one is
   * complete, in a reorg too.
   */
  async produceSlot(aheadTo: number): Promise<void> {
    const slot = this.history.headSlot + 1
    const fork = this.#fork
    if (fork === undefined) this.#beginReorg(slot)
    const isOver = fork !== undefined && slot >= fork.firstSlot + fork.depth
    const branch = isOver ? this.#branchOf(fork, slot) : undefined
    const replaces = branch !== undefined && this.#hasProposer(branch.state) ? { fork, ...branch } : undefined
    if (replaces?.fork !== undefined) await this.#stepBack(replaces.fork)
    const state = replaces?.state ?? this.#advance(this.#tip, slot)
    // A fork that is over gets no block while it waits for one that may take its place.
    const block =
      isOver && replaces === undefined ? undefined : await this.#propose(state, replaces !== undefined, aheadTo)
    const before = this.history.head
    if (replaces?.fork !== undefined) {
      this.history.revertTo(replaces.fork.firstSlot - 1)
      this.#headState = replaces.fork.state
      for (const empty of replaces.emptied) {
        this.#append(empty, undefined)
        if (replaces.fork.isDeep) this.#vote()
      }
    }
    const parent = this.history.head
    this.#append(state, block)
    this.#vote()
    if (slot % SLOTS_PER_EPOCH === 0) this.#prepareReveals(slot)
    if (block !== undefined) this.#announce(block, parent, replaces === undefined ? undefined : before)
  }

  /** What a restart at the head goes on from; undefined while blocks are there that will be orphaned. */
  checkpoint(): ChainCheckpoint | undefined {
    if (this.#fork !== undefined) return undefined
    return {
      slot: this.headSlot,
      pool: this.#pool,
      incidents: this.#incidents.waiting,
      reorgs: this.#reorgs,
      finalizedEpochAnnounced: this.#finalizedEpochAnnounced,
    }
  }

  /** A copy of a state moved to the slot; an epoch's end on the way gives the attestation rewards of the epoch before. */
  #advance(from: CachedBeaconStateFulu, slot: number): CachedBeaconStateFulu {
    const increments = from.epochCtx.effectiveBalanceIncrements
    const transitions: TransitionFacts[] = []
    const state = advanceTo(from, slot, ({ currentEpoch, flags, isActiveCurrEpoch }) => {
      const activeInCurrentEpoch = [...isActiveCurrEpoch]
      transitions.push({ currentEpoch, flags: Uint8Array.from(flags), activeInCurrentEpoch, increments })
    })
    for (const facts of transitions) {
      // Nothing is rewarded in the transition that ends the genesis epoch.
      if (facts.currentEpoch > 0) this.history.addAttestationRewards(attestationRewards(facts, state))
    }
    return state
  }

  async #propose(state: CachedBeaconStateFulu, afterReorg: boolean, aheadTo: number): Promise<BlockRecord | undefined> {
    const { slot } = state
    const proposerIndex = state.epochCtx.getBeaconProposer(slot)
    if (!this.#mayPropose(state, proposerIndex, slot)) return undefined
    const forced = this.#fork !== undefined || afterReorg
    if (!forced && !this.#duties.proposes(slot, proposerIndex)) return undefined
    const on = { parentHash: this.#executionHash, next: this.#nextTurn(state, aheadTo) }
    const building = this.#engine.build(payloadRequest(state, this.#keys.feeRecipient(proposerIndex, slot), on))
    // While the execution side works, everything that does not need its block.
    const { attestations, pool } = this.#fork?.isDeep
      ? { attestations: [], pool: this.#pool }
      : takeAttestations(this.#pool, slot, (label) => this.#signer.aggregate(label))
    const participates = this.#duties.syncParticipation(slot, state.validators.length)
    const operations = this.#operations(state)
    const revealing = this.#signer.randaoReveal(slot, proposerIndex)
    const [built, randaoReveal] = await Promise.all([building, revealing, this.#signer.keepsUp()])
    const parts = { proposerIndex, built, operations, attestations, participates, randaoReveal }
    const block = produceBlock(state, parts, this.#signer)
    this.#pool = pool
    this.#executionHash = block.executionHash
    return block
  }

  #hasProposer(state: CachedBeaconStateFulu): boolean {
    return this.#mayPropose(state, state.epochCtx.getBeaconProposer(state.slot), state.slot)
  }

  /** Slashed validators may not, and those that nobody runs cannot. */
  #mayPropose(state: CachedBeaconStateFulu, index: number, slot: number): boolean {
    return !state.validators.getReadonly(index).slashed && this.#keys.maySignBlock(index, slot)
  }

  /**
   * The next slot that will have a block, as far as one can see now: a slashing or a reorg may change it. None before a rollback, and
   * none beyond `aheadTo`, where outside transactions are still to come.
   */
  #nextTurn(state: CachedBeaconStateFulu, aheadTo: number): BlockTurn | undefined {
    const fork = this.#fork
    const { slot } = state
    if (fork !== undefined && slot + 1 >= fork.firstSlot + fork.depth) return undefined
    const firstKnown = slot - (slot % SLOTS_PER_EPOCH)
    for (let next = slot + 1; next <= Math.min(aheadTo, slot + TURNS_AHEAD_MAX); next++) {
      const proposer = state.proposerLookahead.get(next - firstKnown) // EIP-7917: of this epoch and the next
      if (this.#mayPropose(state, proposer, next) && (fork !== undefined || this.#duties.proposes(next, proposer)))
        return blockTurn(state, next, this.#keys.feeRecipient(proposer, next))
    }
    return undefined
  }

  /** Those of the next epoch, whose proposers are known by now (EIP-7917). */
  #prepareReveals(slot: number): void {
    const proposers = this.#headState.proposerLookahead.getAll().slice(SLOTS_PER_EPOCH)
    this.#signer.prepareReveals(slot + SLOTS_PER_EPOCH, proposers)
  }

  /** Blocks that will be orphaned contain none: what is played once must not be lost. */
  #operations(state: CachedBeaconStateFulu): Operations {
    if (this.#fork !== undefined) return noOperations
    const operations = this.#incidents.take(state)
    const outside = this.#exits.take(state, MAX_VOLUNTARY_EXITS - operations.voluntaryExits.length)
    return { ...operations, voluntaryExits: [...operations.voluntaryExits, ...outside] }
  }

  #append(state: CachedBeaconStateFulu, block: BlockRecord | undefined): void {
    const record = this.history.head
    this.history.append(slotRecordOf(state, block ?? record.head, { record, state: this.#headState }))
    this.#headState = state
    this.#tip = state
  }

  #vote(): void {
    if (this.#fork?.isDeep) return
    const { slot, head, block } = this.history.head
    const epochStart = slot - (slot % SLOTS_PER_EPOCH)
    const cast = castVotes(emptyVotePool, {
      state: this.#headState,
      slot,
      headRoot: bytesOf(head.root),
      previousHeadRoot: bytesOf(block === undefined || slot === 0 ? head.root : head.parentRoot),
      targetRoot: bytesOf((this.history.slot(epochStart) as SlotRecord).head.root),
      duties: this.#duties,
    })
    this.#pool = [...this.#pool, ...cast]
    if (this.#fork !== undefined) this.#orphanVotes = [...this.#orphanVotes, ...cast]
  }

  /** Remembers the head when the scenario wants the blocks from this slot on orphaned. */
  #beginReorg(slot: number): void {
    if (this.#fork !== undefined) return
    const due = this.#reorgs.find((reorg) => reorg.slot <= slot)
    if (due === undefined || !(isDeep(due) || this.#canReorg(slot, due.depth))) return
    this.#reorgs = this.#reorgs.flatMap((reorg) => {
      if (reorg !== due) return [reorg]
      return due.everySlots === undefined ? [] : [{ ...due, slot: due.slot + due.everySlots }]
    })
    const executionHash = this.#executionHash
    this.#fork = {
      state: this.#tip,
      pool: this.#pool,
      executionHash,
      firstSlot: slot,
      depth: due.depth,
      isDeep: isDeep(due),
    }
    this.#orphanVotes = emptyVotePool
  }

  /** The orphaned blocks and the one that replaces them lie within one epoch and have proposers who may propose. */
  #canReorg(slot: number, depth: number): boolean {
    if (slot % SLOTS_PER_EPOCH === 0 || (slot % SLOTS_PER_EPOCH) + depth >= SLOTS_PER_EPOCH) return false
    const { epochCtx } = this.#headState
    for (let s = slot; s <= slot + depth; s++) {
      if (!this.#mayPropose(this.#headState, epochCtx.getBeaconProposer(s), s)) return false
    }
    return true
  }

  /** What the slots of a fork are without its blocks, up to the slot whose block is to take their place. */
  #branchOf({ state, firstSlot }: ForkPoint, slot: number): Branch {
    const emptied: CachedBeaconStateFulu[] = []
    let tip = state
    for (let empty = firstSlot; empty < slot; empty++) {
      tip = this.#advance(tip, empty)
      emptied.push(tip)
    }
    return { emptied, state: this.#advance(tip, slot) }
  }

  /** Returns to the fork point, with the votes that were cast since. */
  async #stepBack(fork: ForkPoint): Promise<void> {
    await this.#engine.rollbackTo(fork.executionHash)
    this.#tip = fork.state
    this.#pool = [...fork.pool, ...this.#orphanVotes]
    this.#executionHash = fork.executionHash
    this.#fork = undefined
  }

  #announce(block: BlockRecord, parent: SlotRecord, orphanedHead: SlotRecord | undefined): void {
    const record = this.history.head
    const { epochCtx } = this.#headState
    this.#events.publish({ topic: 'block', slot: block.slot, block: block.root })
    if (orphanedHead !== undefined) {
      this.#events.publish({
        topic: 'chain_reorg',
        slot: block.slot,
        depth: orphanedHead.head.slot - parent.head.slot,
        oldHeadBlock: orphanedHead.head.root,
        newHeadBlock: block.root,
        oldHeadState: orphanedHead.head.stateRoot,
        newHeadState: block.stateRoot,
        epoch: Math.floor(block.slot / SLOTS_PER_EPOCH),
      })
    }
    this.#events.publish({
      topic: 'head',
      slot: block.slot,
      block: block.root,
      state: block.stateRoot,
      epochTransition: Math.floor(parent.head.slot / SLOTS_PER_EPOCH) !== Math.floor(block.slot / SLOTS_PER_EPOCH),
      previousDutyDependentRoot: epochCtx.previousDecisionRoot as Hex,
      currentDutyDependentRoot: epochCtx.currentDecisionRoot as Hex,
    })
    const { finalized } = record.finality
    if (finalized.epoch === this.#finalizedEpochAnnounced) return
    this.#finalizedEpochAnnounced = finalized.epoch
    const finalizedBlock = this.history.blockByRoot(finalized.root) as BlockRecord
    const { root, stateRoot } = finalizedBlock
    this.#events.publish({ topic: 'finalized_checkpoint', block: root, state: stateRoot, epoch: finalized.epoch })
  }
}

function isDeep({ depth }: Reorg): boolean {
  return depth > DEPTH_WITHIN_EPOCH_MAX
}

function genesisCheckpoint({ incidents }: Scenario): ChainCheckpoint {
  const reorgs = incidents.filter((incident): incident is Reorg => incident.kind === 'reorg')
  return { slot: 0, pool: emptyVotePool, incidents, reorgs, finalizedEpochAnnounced: 0 }
}

function genesisRecord(genesis: Genesis, executionHash: Hex): BlockRecord {
  const header = genesis.state.latestBlockHeader
  return {
    root: hexOf(genesis.blockRoot),
    slot: 0,
    proposerIndex: 0,
    parentRoot: hexOf(new Uint8Array(32)),
    stateRoot: hexOf(genesis.state.hashTreeRoot()),
    bodyRoot: hexOf(header.bodyRoot),
    signature: () => new Uint8Array(96),
    bytes: () => genesis.blockBytes,
    executionHash,
    rewards: { attestations: 0, syncAggregate: 0, proposerSlashings: 0, attesterSlashings: 0 },
    syncWorth: { seatGwei: 0, scarce: new Map() },
    syncRewards: () => new Map(),
  }
}
