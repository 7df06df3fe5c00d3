import type { Node } from '@chainsafe/persistent-merkle-tree'
import type { electra, phase0 } from '@lodestar/types'
import type { Hex } from '../engine.ts'
import type { AttestationRewards } from './attestation-rewards.ts'

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
  /** The state's tree at the first slot of each epoch: neighbours share all that did not change. */
  readonly tree: Node | undefined
}

/** All that the chain did, in memory. Slots without gap from 0 to the head; orphaned blocks stay readable by root. */
export class History {
  readonly #slots: SlotRecord[] = []
  readonly #blocks = new Map<Hex, BlockRecord>()
  readonly #slotByStateRoot = new Map<Hex, number>()
  readonly #attestationRewards = new Map<number, AttestationRewards>()
  readonly #blocksBySlot = new Map<number, BlockRecord[]>()

  get headSlot(): number {
    return this.#slots.length - 1
  }

  get head(): SlotRecord {
    return this.#slots[this.#slots.length - 1] as SlotRecord
  }

  get genesisBlock(): BlockRecord {
    return (this.#slots[0] as SlotRecord).head
  }

  slot(slot: number): SlotRecord | undefined {
    return this.#slots[slot]
  }

  /** Canonical or orphaned. */
  blockByRoot(root: Hex): BlockRecord | undefined {
    return this.#blocks.get(root)
  }

  /** The blocks seen for a slot: the canonical one, orphaned ones. */
  blocksOfSlot(slot: number): readonly BlockRecord[] {
    return this.#blocksBySlot.get(slot) ?? []
  }

  isCanonical(block: BlockRecord): boolean {
    return this.#slots[block.slot]?.block === block
  }

  slotOfState(stateRoot: Hex): number | undefined {
    return this.#slotByStateRoot.get(stateRoot)
  }

  attestationRewards(epoch: number): AttestationRewards | undefined {
    return this.#attestationRewards.get(epoch)
  }

  append(record: SlotRecord): void {
    if (record.slot !== this.#slots.length) throw new Error(`slot ${record.slot} after ${this.#slots.length - 1}`)
    this.#slots.push(record)
    this.#slotByStateRoot.set(record.stateRoot, record.slot)
    if (record.block === undefined) return
    this.#blocks.set(record.block.root, record.block)
    this.#blocksBySlot.set(record.slot, [...this.blocksOfSlot(record.slot), record.block])
  }

  addAttestationRewards(rewards: AttestationRewards): void {
    this.#attestationRewards.set(rewards.epoch, rewards)
  }

  /** Forgets the slots after this one, as a reorg does; their blocks stay. */
  revertTo(slot: number): void {
    for (const record of this.#slots.splice(slot + 1)) this.#slotByStateRoot.delete(record.stateRoot)
  }
}
