import { zstdCompressSync } from 'node:zlib'
import { ssz } from '@lodestar/types'
import { bytesOf, type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import { unzipped } from '../archive/archive.ts'
import { SIGNATURE_OFFSET } from './block.ts'
import type { BlockRecord, ProposerRewards, SyncRewards } from './history.ts'
import { type SyncWorth, syncRewardsOf } from './sync-rewards.ts'

/** A block as the archive's table has it. */
export interface BlockRow {
  readonly root: Uint8Array
  readonly slot: number
  /** JSON of what the bytes do not say, or only their hashes would. */
  readonly facts: string
  readonly bytes: Uint8Array
}

interface Facts {
  readonly bodyRoot: Hex
  readonly executionHash: Hex
  readonly rewards: ProposerRewards
  readonly seatGwei: number
  readonly scarce: readonly (readonly [member: number, gwei: number])[]
}

// SSZ of a SignedBeaconBlock: offset of the message, signature, then the message's own fields of fixed size.
const SIGNATURE_BYTES = 96
const PROPOSER_OFFSET = SIGNATURE_OFFSET + SIGNATURE_BYTES + 8
const PARENT_ROOT_OFFSET = PROPOSER_OFFSET + 8
const STATE_ROOT_OFFSET = PARENT_ROOT_OFFSET + 32

export function toBlockRow(block: BlockRecord): BlockRow {
  const { bodyRoot, executionHash, rewards, syncWorth } = block
  const facts: Facts = { bodyRoot, executionHash, rewards, ...syncWorth, scarce: [...syncWorth.scarce] }
  const bytes = zstdCompressSync(block.bytes())
  return { root: bytesOf(block.root), slot: block.slot, facts: JSON.stringify(facts), bytes }
}

/** `committeeAt` gives the sync committee of a slot; it is asked for when somebody wants the block's sync rewards. */
export function toBlockRecord(row: BlockRow, committeeAt: (slot: number) => Uint32Array): BlockRecord {
  const { slot } = row
  const { bodyRoot, executionHash, rewards, seatGwei, scarce } = JSON.parse(row.facts) as Facts
  const bytes = unzipped(row.bytes)
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const root = (offset: number): Hex => hexOf(bytes.subarray(offset, offset + 32))
  const syncWorth: SyncWorth = { seatGwei, scarce: new Map(scarce) }
  return {
    root: hexOf(row.root),
    slot,
    proposerIndex: Number(view.readBigUInt64LE(PROPOSER_OFFSET)),
    parentRoot: root(PARENT_ROOT_OFFSET),
    stateRoot: root(STATE_ROOT_OFFSET),
    bodyRoot,
    signature: () => bytes.slice(SIGNATURE_OFFSET, SIGNATURE_OFFSET + SIGNATURE_BYTES),
    bytes: () => bytes,
    executionHash,
    rewards,
    syncWorth,
    syncRewards(): SyncRewards {
      if (slot === 0) return new Map() // nobody signed for the genesis block
      const { syncCommitteeBits } = ssz.fulu.SignedBeaconBlock.deserialize(bytes).message.body.syncAggregate
      return syncRewardsOf(syncWorth, committeeAt(slot), syncCommitteeBits)
    },
  }
}
