import { type Static, Type } from 'typebox'
import { jsonEvent, olderJson } from './codec.ts'
import { Chain, Hash, UInt } from './fields.ts'

const LoggedBlock = Type.Object({
  /** Slot of a beacon block, number of a block of an execution chain. */
  height: UInt,
  /** Root of a beacon block, hash of a block of an execution chain. */
  id: Hash,
  executionBlockHash: Hash,
  executionBlockNumber: UInt,
  /** Unix seconds of a block of an execution chain; a beacon block's follow from its slot. */
  timestampSec: Type.Optional(UInt),
})
/** A block that a head follower has put into the log: what its revert has to name. */
export type LoggedBlock = Static<typeof LoggedBlock>

const CursorData = Type.Object({
  chain: Chain,
  /** What the node's chain is told by (schemas/eth/chain-identity.ts); another one is refused. */
  identity: Type.Optional(Type.String()),
  /** First slot, block number or epoch that has not been ingested. */
  next: UInt,
  /** Finalized epochs: root of the last block before `next`, which the next epoch must continue. */
  after: Type.Optional(Hash),
  /** Head followers: the newest final block of the log and those after it, oldest first: what a reorg is found by. */
  recent: Type.Optional(Type.Array(LoggedBlock)),
  /** Head followers: blocks that may be in the log or not, because their append was about to happen; oldest first. */
  unsettled: Type.Optional(Type.Array(LoggedBlock)),
})
export type CursorData = Static<typeof CursorData>

const BlockV1 = Type.Object({ slot: UInt, root: Hash, executionBlockHash: Hash, executionBlockNumber: UInt })
const CursorV1 = Type.Object({
  next: UInt,
  headRoot: Type.Optional(Hash),
  genesisValidatorsRoot: Type.Optional(Hash),
  chain: Type.Optional(Type.Array(BlockV1)),
  unsettled: Type.Optional(Type.Array(BlockV1)),
})

function toLoggedBlock({ slot, root, ...execution }: Static<typeof BlockV1>): LoggedBlock {
  return { height: slot, id: root, ...execution }
}

/**
 * How far an ingester has got. Written after the events it stands for, so a crash in between repeats them and loses none.
 * The key is the chain and the ingester's name (`mainnet:head`); only the newest counts (compacted topic).
 */
export const ingestCursor = jsonEvent({ name: 'ingest.cursor', version: 2, topic: 'ingest.cursors' }, CursorData, {
  1: olderJson(CursorV1, ({ next, headRoot, genesisValidatorsRoot, chain: recent, unsettled }, chain) => ({
    chain,
    next,
    ...(genesisValidatorsRoot === undefined ? {} : { identity: genesisValidatorsRoot }),
    ...(headRoot === undefined ? {} : { after: headRoot }),
    ...(recent === undefined ? {} : { recent: recent.map(toLoggedBlock) }),
    ...(unsettled === undefined ? {} : { unsettled: unsettled.map(toLoggedBlock) }),
  })),
})
