import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Hash, UInt } from './fields.ts'

/**
 * How far an ingester has got. Written after the events it stands for, so a crash in between repeats them and loses none.
 * The key is the ingester's name; only the newest counts (compacted topic).
 */
const LoggedBlock = Type.Object({
  slot: UInt,
  root: Hash,
  executionBlockHash: Hash,
  executionBlockNumber: UInt,
})
/** A block that the head follower has put into the log: what its revert has to name. */
export type LoggedBlock = Static<typeof LoggedBlock>

const CursorData = Type.Object({
  /** First slot (head followers) or epoch (finalized epochs) that has not been ingested. */
  next: UInt,
  /** Root of the newest block in the log: what is ingested next must continue it. */
  headRoot: Type.Optional(Hash),
  /** The chain that the log tells of; a node of another chain is refused. */
  genesisValidatorsRoot: Type.Optional(Hash),
  /** Head follower: the newest final block of the log and those after it, oldest first: what a reorg is found by. */
  chain: Type.Optional(Type.Array(LoggedBlock)),
  /** Head follower: blocks that may be in the log or not, because their append was about to happen; oldest first. */
  unsettled: Type.Optional(Type.Array(LoggedBlock)),
})
export type CursorData = Static<typeof CursorData>

export const ingestCursor = jsonEvent({ name: 'ingest.cursor', version: 1, topic: 'ingest.cursors' }, CursorData)
