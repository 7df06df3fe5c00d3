import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { beaconBlock, beaconBlockReverted, missedSlot } from '../../schemas/events/beacon-block.ts'
import { beaconQueues } from '../../schemas/events/beacon-queues.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { type Projected, type TableRows, versionOf } from '../loop/rows.ts'
import { projectQueues } from './queues.ts'

const ZERO_HASH = `0x${'0'.repeat(64)}`

/** What one event of `beacon.blocks` becomes: the chain as the head shows it, and what waits there. A missed slot makes no row. */
export function projectHeadBlock(stored: StoredEvent, unnamedChain: string): Projected {
  const version = versionOf(stored.position)
  switch (stored.event.type) {
    case beaconBlock.name: {
      const block = decodeEvent(beaconBlock, stored.event, unnamedChain)
      return { rows: [headRow({ ...block, deleted: false, version })] }
    }
    case beaconBlockReverted.name: {
      const { chain, slot, root } = decodeEvent(beaconBlockReverted, stored.event, unnamedChain)
      const nothing = {
        parentRoot: ZERO_HASH,
        proposerIndex: 0,
        executionBlockHash: ZERO_HASH,
        executionBlockNumber: 0,
      }
      return { rows: [headRow({ chain, slot, root, ...nothing, deleted: true, version })] }
    }
    case missedSlot.name:
      decodeEvent(missedSlot, stored.event, unnamedChain)
      return { rows: [] }
    case beaconQueues.name:
      return projectQueues(stored, unnamedChain)
    default:
      throw new AppError('undecodable', `unknown event type ${stored.event.type} among the beacon blocks`)
  }
}

function headRow(block: {
  readonly chain: string
  readonly slot: number
  readonly root: string
  readonly parentRoot: string
  readonly proposerIndex: number
  readonly executionBlockHash: string
  readonly executionBlockNumber: number
  readonly deleted: boolean
  readonly version: bigint
}): TableRows {
  return {
    table: 'beacon_blocks',
    columns: {
      chain: [block.chain],
      slot: BigUint64Array.of(BigInt(block.slot)),
      block_root: [block.root],
      parent_root: [block.parentRoot],
      proposer_index: Uint32Array.of(block.proposerIndex),
      execution_block_hash: [block.executionBlockHash],
      execution_block_number: BigUint64Array.of(BigInt(block.executionBlockNumber)),
      version: BigUint64Array.of(block.version),
      is_deleted: Uint8Array.of(block.deleted ? 1 : 0),
    },
  }
}
