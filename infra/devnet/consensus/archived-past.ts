import { zstdCompressSync } from 'node:zlib'
import type { BeaconConfig } from '@lodestar/config'
import { SLOTS_PER_EPOCH } from '@lodestar/params'
import { type CachedBeaconStateFulu, createCachedBeaconState, type PubkeyCache } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import { bytesOf, type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import { type Archive, pack, unpack, unzipped, type Write } from '../archive/archive.ts'
import type { AttestationRewards } from './attestation-rewards.ts'
import type { BlockRecord, History, Past, SlotRecord } from './history.ts'
import { replaySlot } from './regenerate.ts'
import { slotRecordOf } from './slot-record.ts'
import { type BlockRow, toBlockRecord, toBlockRow } from './stored-block.ts'

export const PAST_SCHEMA = `
CREATE TABLE IF NOT EXISTS slots (slot INTEGER PRIMARY KEY, state_root BLOB NOT NULL, block_root BLOB) STRICT;
CREATE INDEX IF NOT EXISTS slots_by_state ON slots (state_root);
CREATE TABLE IF NOT EXISTS beacon_blocks (root BLOB PRIMARY KEY, slot INTEGER NOT NULL, facts TEXT NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS beacon_blocks_by_slot ON beacon_blocks (slot);
CREATE TABLE IF NOT EXISTS states (slot INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS attestation_rewards (epoch INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;`

/** The records between two states are made again when asked for, in some 0.3 s. */
export const STATE_INTERVAL_SLOTS = 256

/** Stretches between two states whose records stay in memory: readers go from slot to slot. */
const STRETCHES_KEPT = 4

interface Immutable {
  readonly config: BeaconConfig
  readonly pubkeyCache: PubkeyCache
}

/**
 * The chain up to its newest checkpoint, on disk: all blocks, a state now and then, and what takes long to find again. Slots' records
 * come from the nearest state and the blocks after it.
 */
export class ArchivedPast implements Past {
  readonly #archive: Archive
  readonly #immutable: Immutable
  readonly #intervalSlots: number
  readonly #stretches = new Map<number, readonly SlotRecord[]>()

  /** A state is kept at every `intervalSlots`, a multiple of an epoch's slots. */
  constructor(archive: Archive, immutable: Immutable, intervalSlots: number) {
    this.#archive = archive
    this.#immutable = immutable
    this.#intervalSlots = intervalSlots
  }

  /** -1 when there is nothing. */
  get headSlot(): number {
    return Number(this.#archive.prepare('SELECT max(slot) AS slot FROM slots').get()?.slot ?? -1)
  }

  slot(slot: number): SlotRecord | undefined {
    const row = this.#archive
      .prepare('SELECT max(slot) AS first FROM states WHERE slot <= ? AND EXISTS (SELECT 1 FROM slots WHERE slot = ?)')
      .get(slot, slot)
    if (row?.first === null || row?.first === undefined) return undefined
    const first = Number(row.first)
    const records = this.#stretches.get(first) ?? this.#replay(first)
    this.#stretches.delete(first)
    this.#stretches.set(first, records) // the newest last
    for (const oldest of this.#stretches.keys()) {
      if (this.#stretches.size <= STRETCHES_KEPT) break
      this.#stretches.delete(oldest)
    }
    return records[slot - first]
  }

  block(slot: number): BlockRecord | undefined {
    const sql = 'SELECT b.* FROM slots s JOIN beacon_blocks b ON b.root = s.block_root WHERE s.slot = ?'
    return this.#toRecord(this.#archive.prepare(sql).get(slot))
  }

  blockByRoot(root: Hex): BlockRecord | undefined {
    return this.#toRecord(this.#archive.prepare('SELECT * FROM beacon_blocks WHERE root = ?').get(bytesOf(root)))
  }

  blocksOfSlot(slot: number): readonly BlockRecord[] {
    const rows = this.#archive.prepare('SELECT * FROM beacon_blocks WHERE slot = ? ORDER BY rowid').all(slot)
    return rows.flatMap((row) => this.#toRecord(row) ?? [])
  }

  slotOfState(stateRoot: Hex): number | undefined {
    const row = this.#archive.prepare('SELECT slot FROM slots WHERE state_root = ?').get(bytesOf(stateRoot))
    return row === undefined ? undefined : Number(row.slot)
  }

  attestationRewards(epoch: number): AttestationRewards | undefined {
    const row = this.#archive.prepare('SELECT data FROM attestation_rewards WHERE epoch = ?').get(epoch)
    return row === undefined ? undefined : (unpack(row.data as Uint8Array) as AttestationRewards)
  }

  /** The state that is kept for a slot, with its caches; its root is that of the slot. */
  state(slot: number): CachedBeaconStateFulu {
    const row = this.#archive
      .prepare('SELECT bytes, state_root FROM states JOIN slots USING (slot) WHERE slot = ?')
      .get(slot)
    if (row === undefined) throw new Error(`no state is kept for slot ${slot}`)
    const view = ssz.fulu.BeaconState.deserializeToViewDU(unzipped(row.bytes as Uint8Array))
    if (hexOf(view.hashTreeRoot()) !== hexOf(row.state_root as Uint8Array)) {
      throw new Error(`the state of slot ${slot} is not the one that the chain had`)
    }
    return createCachedBeaconState(view, this.#immutable) as CachedBeaconStateFulu
  }

  /** The block that a state follows: of its slot, or the last one before it. */
  headOf(state: CachedBeaconStateFulu): BlockRecord {
    const header = state.latestBlockHeader.toValue()
    // The header of the state's own block gets its state root with the next slot.
    const own = this.block(header.slot)
    if (own === undefined) throw new Error(`no block is kept for slot ${header.slot}`)
    return own
  }

  /** Prepares the rows of the slots from one to another, which the history must have in memory. */
  prepare(history: History, from: number, to: number): Write {
    const slots = Array.from({ length: to - from + 1 }, (_, i) => history.slot(from + i) as SlotRecord)
    const blocks = slots.flatMap(({ slot }) => history.blocksOfSlot(slot).map(toBlockRow))
    const states = slots.flatMap(({ slot, tree }) => {
      if (slot % this.#intervalSlots !== 0 || tree === undefined) return []
      return [{ slot, bytes: zstdCompressSync(ssz.fulu.BeaconState.getViewDU(tree).serialize()) }]
    })
    // The rewards of an epoch are known two epochs later.
    const epochs = slots.flatMap(({ slot }) => (slot % SLOTS_PER_EPOCH === 0 ? [slot / SLOTS_PER_EPOCH - 2] : []))
    const rewards = epochs.flatMap((epoch) => history.attestationRewards(epoch) ?? [])
    return () => {
      const { prepare } = this.#archive
      const slotRow = prepare('INSERT INTO slots (slot, state_root, block_root) VALUES (?, ?, ?)')
      for (const { slot, stateRoot, block } of slots)
        slotRow.run(slot, bytesOf(stateRoot), block === undefined ? null : bytesOf(block.root))
      const blockRow = prepare('INSERT INTO beacon_blocks (root, slot, facts, bytes) VALUES (?, ?, ?, ?)')
      for (const { root, slot, facts, bytes } of blocks) blockRow.run(root, slot, facts, bytes)
      const stateRow = prepare('INSERT INTO states (slot, bytes) VALUES (?, ?)')
      for (const { slot, bytes } of states) stateRow.run(slot, bytes)
      const rewardRow = prepare('INSERT INTO attestation_rewards (epoch, data) VALUES (?, ?)')
      for (const each of rewards) rewardRow.run(each.epoch, pack(each))
    }
  }

  #toRecord(row: Record<string, unknown> | undefined): BlockRecord | undefined {
    if (row === undefined) return undefined
    const { root, facts, bytes } = row
    const block: BlockRow = {
      root: root as Uint8Array,
      slot: Number(row.slot),
      facts: String(facts),
      bytes: bytes as Uint8Array,
    }
    return toBlockRecord(block, (slot) => (this.slot(slot) as SlotRecord).syncCommittee)
  }

  #replay(first: number): readonly SlotRecord[] {
    const end = Math.min(this.headSlot, first + this.#intervalSlots - 1)
    let state = this.state(first)
    let record = slotRecordOf(state, this.headOf(state))
    const records = [record]
    for (let slot = first + 1; slot <= end; slot++) {
      const block = this.block(slot)
      const next = replaySlot(state, slot, block)
      record = slotRecordOf(next, block ?? record.head, { record, state })
      state = next
      records.push(record)
    }
    return records
  }
}
