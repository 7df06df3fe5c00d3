import type { Node } from '@chainsafe/persistent-merkle-tree'
import { SLOTS_PER_EPOCH } from '@lodestar/params'
import type { electra, phase0 } from '@lodestar/types'
import type { Hex } from '../../../schemas/eth/hex.ts'
import type { AttestationRewards } from './attestation-rewards.ts'
import type { SyncWorth } from './sync-rewards.ts'

export interface Checkpoint {
  readonly epoch: number
  readonly root: Hex
}

export interface FinalityCheckpoints {
  readonly previousJustified: Checkpoint
  readonly currentJustified: Checkpoint
  readonly finalized: Checkpoint
}

/** What the block's proposer got from the consensus layer, in gwei. */
export interface ProposerRewards {
  readonly attestations: number
  readonly syncAggregate: number
  readonly proposerSlashings: number
  readonly attesterSlashings: number
}

/** Change of balance by one sync aggregate, in gwei, for every member of the committee. */
export type SyncRewards = ReadonlyMap<number, number>

export interface BlockRecord {
  readonly root: Hex
  readonly slot: number
  readonly proposerIndex: number
  readonly parentRoot: Hex
  readonly stateRoot: Hex
  readonly bodyRoot: Hex
  /** The proposer's; made when it is first asked for. */
  signature(): Uint8Array
  /** SSZ of the signed block. */
  bytes(): Uint8Array
  readonly executionHash: Hex
  readonly rewards: ProposerRewards
  readonly syncWorth: SyncWorth
  /** Computed when asked for. */
  syncRewards(): SyncRewards
}

/** The state as of a slot: after its block, or after an empty slot. Unchanged parts are shared with the slot before. */
export interface SlotRecord {
  readonly slot: number
  readonly stateRoot: Hex
  /** The canonical block of this slot; undefined when it was missed (or orphaned). */
  readonly block: BlockRecord | undefined
  /** The canonical block at or before this slot. */
  readonly head: BlockRecord
  /** Gwei by validator index. */
  readonly balances: Float64Array
  readonly registry: readonly phase0.Validator[]
  readonly finality: FinalityCheckpoints
  readonly pendingDeposits: electra.PendingDeposits
  readonly pendingPartialWithdrawals: electra.PendingPartialWithdrawals
  readonly pendingConsolidations: electra.PendingConsolidations
  readonly syncCommittee: Uint32Array
  readonly nextSyncCommittee: Uint32Array
  /** Proposer of each slot of the record's epoch, whether it proposed or not. */
  readonly proposers: readonly number[]
  /** The state's tree at the first and the last slot of each epoch: neighbours share all that did not change. */
  readonly tree: Node | undefined
}

/** What the chain did before the slots that are in memory; see History for what the answers mean. */
export interface Past {
  slot(slot: number): SlotRecord | undefined
  block(slot: number): BlockRecord | undefined
  blockByRoot(root: Hex): BlockRecord | undefined
  blocksOfSlot(slot: number): readonly BlockRecord[]
  slotOfState(stateRoot: Hex): number | undefined
  attestationRewards(epoch: number): AttestationRewards | undefined
}

/**
 * All that the chain did: slots without gap from 0 to the head; orphaned blocks stay readable by root. The newest slots are in
 * memory, those before them are asked of the past.
 */
export class History {
  readonly genesisBlock: BlockRecord
  readonly #past: Past | undefined
  /** Slot of the first record in memory. */
  #first: number
  readonly #slots: SlotRecord[]
  readonly #blocks = new Map<Hex, BlockRecord>()
  readonly #slotByStateRoot = new Map<Hex, number>()
  readonly #attestationRewards = new Map<number, AttestationRewards>()
  readonly #blocksBySlot = new Map<number, BlockRecord[]>()

  /** Begins at the record of slot 0, or of a slot that the past knows too. */
  constructor(genesisBlock: BlockRecord, first: SlotRecord, past?: Past) {
    this.genesisBlock = genesisBlock
    this.#past = past
    this.#first = first.slot
    this.#slots = []
    this.append(first)
  }

  get headSlot(): number {
    return this.#first + this.#slots.length - 1
  }

  get head(): SlotRecord {
    return this.#slots[this.#slots.length - 1] as SlotRecord
  }

  slot(slot: number): SlotRecord | undefined {
    return slot < this.#first ? this.#past?.slot(slot) : this.#slots[slot - this.#first]
  }

  /** The canonical block of a slot: for the past much cheaper than the slot's record. */
  block(slot: number): BlockRecord | undefined {
    return slot < this.#first ? this.#past?.block(slot) : this.#slots[slot - this.#first]?.block
  }

  /** Canonical or orphaned. */
  blockByRoot(root: Hex): BlockRecord | undefined {
    return this.#blocks.get(root) ?? this.#past?.blockByRoot(root)
  }

  /** The blocks seen for a slot: the canonical one, orphaned ones. */
  blocksOfSlot(slot: number): readonly BlockRecord[] {
    return (slot < this.#first ? this.#past?.blocksOfSlot(slot) : this.#blocksBySlot.get(slot)) ?? []
  }

  isCanonical(block: BlockRecord): boolean {
    return this.block(block.slot)?.root === block.root
  }

  slotOfState(stateRoot: Hex): number | undefined {
    return this.#slotByStateRoot.get(stateRoot) ?? this.#past?.slotOfState(stateRoot)
  }

  attestationRewards(epoch: number): AttestationRewards | undefined {
    return this.#attestationRewards.get(epoch) ?? this.#past?.attestationRewards(epoch)
  }

  append(record: SlotRecord): void {
    if (record.slot !== this.headSlot + 1) throw new Error(`slot ${record.slot} after ${this.headSlot}`)
    this.#slots.push(record)
    this.#slotByStateRoot.set(record.stateRoot, record.slot)
    if (record.block !== undefined) this.#addBlock(record.block)
  }

  addAttestationRewards(rewards: AttestationRewards): void {
    this.#attestationRewards.set(rewards.epoch, rewards)
  }

  /** Forgets the slots after this one, as a reorg does; their blocks stay. */
  revertTo(slot: number): void {
    for (const record of this.#slots.splice(slot + 1 - this.#first)) this.#slotByStateRoot.delete(record.stateRoot)
  }

  /** Leaves the slots before this one to the past, which must know them. */
  leaveToPast(slot: number): void {
    for (const record of this.#slots.splice(0, Math.max(0, slot - this.#first))) {
      this.#slotByStateRoot.delete(record.stateRoot)
      for (const block of this.#blocksBySlot.get(record.slot) ?? []) this.#blocks.delete(block.root)
      this.#blocksBySlot.delete(record.slot)
      this.#first = record.slot + 1
    }
    const firstEpoch = Math.floor(this.#first / SLOTS_PER_EPOCH)
    for (const epoch of this.#attestationRewards.keys()) if (epoch < firstEpoch) this.#attestationRewards.delete(epoch)
  }

  #addBlock(block: BlockRecord): void {
    this.#blocks.set(block.root, block)
    this.#blocksBySlot.set(block.slot, [...(this.#blocksBySlot.get(block.slot) ?? []), block])
  }
}
