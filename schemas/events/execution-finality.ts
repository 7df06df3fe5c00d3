import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Chain, Hash, UInt } from './fields.ts'

const ExecutionFinalizedData = Type.Object({ chain: Chain, number: UInt, hash: Hash })
export type ExecutionFinalizedData = Static<typeof ExecutionFinalizedData>

/**
 * A block of an execution chain up to which nothing changes any more: by its node's `finalized` tag, or by depth. Keyed by the
 * chain; id `execution.finalized:<chain>:<number>`.
 */
export const executionFinalized = jsonEvent(
  { name: 'execution.finalized', version: 1, topic: 'execution.blocks' },
  ExecutionFinalizedData,
)
