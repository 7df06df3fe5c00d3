import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Hash, UInt } from './fields.ts'

/** All blocks of a chain share one key: their order is what reorgs are told by. */
export const BEACON_BLOCKS_KEY = 'chain'

const BeaconBlockData = Type.Object({
  slot: UInt,
  root: Hash,
  parentRoot: Hash,
  proposerIndex: UInt,
  executionBlockHash: Hash,
  executionBlockNumber: UInt,
})
export type BeaconBlockData = Static<typeof BeaconBlockData>

const MissedSlotData = Type.Object({ slot: UInt })
export type MissedSlotData = Static<typeof MissedSlotData>

const BeaconBlockRevertedData = Type.Object({ slot: UInt, root: Hash })
export type BeaconBlockRevertedData = Static<typeof BeaconBlockRevertedData>

/** A block that is on the canonical chain as the head shows it; id `beacon.block:<root>`. */
export const beaconBlock = jsonEvent({ name: 'beacon.block', version: 1, topic: 'beacon.blocks' }, BeaconBlockData)

/** A slot without a block between two canonical blocks; id `beacon.missed-slot:<slot>`. */
export const missedSlot = jsonEvent({ name: 'beacon.missed-slot', version: 1, topic: 'beacon.blocks' }, MissedSlotData)

/** A block that was canonical and no longer is; id `beacon.block-reverted:<root>`. */
export const beaconBlockReverted = jsonEvent(
  { name: 'beacon.block-reverted', version: 1, topic: 'beacon.blocks' },
  BeaconBlockRevertedData,
)
