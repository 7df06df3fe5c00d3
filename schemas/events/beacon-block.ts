import { type Static, Type } from 'typebox'
import { jsonEvent, olderJson } from './codec.ts'
import { Chain, Hash, UInt } from './fields.ts'

const BeaconBlockFields = {
  slot: UInt,
  root: Hash,
  parentRoot: Hash,
  proposerIndex: UInt,
  executionBlockHash: Hash,
  executionBlockNumber: UInt,
}
const MissedSlotFields = { slot: UInt }
const BeaconBlockRevertedFields = { slot: UInt, root: Hash }

const BeaconBlockData = Type.Object({ chain: Chain, ...BeaconBlockFields })
export type BeaconBlockData = Static<typeof BeaconBlockData>

const MissedSlotData = Type.Object({ chain: Chain, ...MissedSlotFields })
export type MissedSlotData = Static<typeof MissedSlotData>

const BeaconBlockRevertedData = Type.Object({ chain: Chain, ...BeaconBlockRevertedFields })
export type BeaconBlockRevertedData = Static<typeof BeaconBlockRevertedData>

// All of a chain's share its key: their order is what reorgs are told by.

/** A block that is on the canonical chain as the head shows it; id `beacon.block:<chain>:<root>`. */
export const beaconBlock = jsonEvent({ name: 'beacon.block', version: 2, topic: 'beacon.blocks' }, BeaconBlockData, {
  1: olderJson(Type.Object(BeaconBlockFields), (data, chain) => ({ chain, ...data })),
})

/** A slot without a block between two canonical blocks; id `beacon.missed-slot:<chain>:<slot>`. */
export const missedSlot = jsonEvent(
  { name: 'beacon.missed-slot', version: 2, topic: 'beacon.blocks' },
  MissedSlotData,
  {
    1: olderJson(Type.Object(MissedSlotFields), (data, chain) => ({ chain, ...data })),
  },
)

/** A block that was canonical and no longer is; id `beacon.block-reverted:<chain>:<root>`. */
export const beaconBlockReverted = jsonEvent(
  { name: 'beacon.block-reverted', version: 2, topic: 'beacon.blocks' },
  BeaconBlockRevertedData,
  { 1: olderJson(Type.Object(BeaconBlockRevertedFields), (data, chain) => ({ chain, ...data })) },
)
