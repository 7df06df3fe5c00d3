import type { BeaconBlock, BeaconChain } from '../../infra/ports/beacon-source.ts'
import type { ExecutionBlock, ExecutionSource } from '../../infra/ports/execution-source.ts'
import { chainKey } from '../../schemas/chains.ts'
import { formatInstant, slotTimeSec } from '../../schemas/eth/time.ts'
import { beaconBlock, beaconBlockReverted, missedSlot } from '../../schemas/events/beacon-block.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import type { LoggedBlock } from '../../schemas/events/cursor.ts'
import { executionBlockEvents, executionRevertEvent } from '../execution/block-events.ts'
import type { BlockEvidenceReader } from '../execution/block-evidence.ts'
import { type HeadEvents, NO_HEAD_EVENTS } from '../head/head-chain.ts'

/** Before the merge, blocks have a payload of zeros: there is no execution block. */
const NO_EXECUTION_BLOCK = `0x${'00'.repeat(32)}`

/** The chain by its name, and what the node says of it. */
export interface NamedChain extends Pick<BeaconChain, 'clock'> {
  readonly name: string
}

export function hasExecutionBlock(block: Pick<BeaconBlock, 'executionBlockHash'>): boolean {
  return block.executionBlockHash !== NO_EXECUTION_BLOCK
}

/** Events of slots without a block, from … to before `end`. */
export function missedSlotEvents(chain: NamedChain, from: number, end: number): HeadEvents {
  const missed = Array.from({ length: Math.max(0, end - from) }, (_, i) => {
    const slot = from + i
    return encodeEvent(missedSlot, {
      id: `beacon.missed-slot:${chain.name}:${slot}`,
      key: chainKey(chain.name),
      time: timeOfSlot(chain, slot),
      data: { chain: chain.name, slot },
    })
  })
  return { ...NO_HEAD_EVENTS, 'beacon.blocks': missed }
}

/** The execution block of a beacon block, and what is known of its payment beyond it. */
export interface Payload {
  readonly execution: ExecutionBlock
  readonly evidence: readonly EncodedEvent[]
}

/** Reads the execution block, where the block has one, and its evidence, where there is a reader of it. Throws AppErrors of node faults. */
export async function readPayload(
  chain: NamedChain,
  block: BeaconBlock,
  { execution, evidence }: { readonly execution: ExecutionSource; readonly evidence?: BlockEvidenceReader | undefined },
): Promise<Payload | undefined> {
  if (!hasExecutionBlock(block)) return undefined
  const payload = await execution.blockByHash(block.executionBlockHash)
  const time = timeOfSlot(chain, block.slot)
  return { execution: payload, evidence: (await evidence?.eventsOf(block.proposerIndex, payload, time)) ?? [] }
}

/** Events of a block and of its execution block, where it has one. */
export function beaconBlockEvents(chain: NamedChain, block: BeaconBlock, payload: Payload | undefined): HeadEvents {
  const { slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber } = block
  const time = timeOfSlot(chain, slot)
  const ofBlock = encodeEvent(beaconBlock, {
    id: `beacon.block:${chain.name}:${root}`,
    key: chainKey(chain.name),
    time,
    data: { chain: chain.name, slot, root, parentRoot, proposerIndex, executionBlockHash, executionBlockNumber },
  })
  const events = payload === undefined ? undefined : executionBlockEvents(chain.name, payload.execution, time)
  return {
    'execution.logs': events?.logs ?? [],
    // The evidence first: who makes figures of a block finds it.
    'execution.blocks': [...(payload?.evidence ?? []), ...(events?.blocks ?? [])],
    'beacon.blocks': [ofBlock],
  }
}

/** Events that take blocks back, in the order given. */
export function beaconRevertEvents(chain: NamedChain, blocks: readonly LoggedBlock[]): HeadEvents {
  const execution = blocks
    .filter(hasExecutionBlock)
    .map(({ height, executionBlockHash: hash, executionBlockNumber: number }) =>
      executionRevertEvent(chain.name, { number, hash }, timeOfSlot(chain, height)),
    )
  const beacon = blocks.map(({ height: slot, id: root }) =>
    encodeEvent(beaconBlockReverted, {
      id: `beacon.block-reverted:${chain.name}:${root}`,
      key: chainKey(chain.name),
      time: timeOfSlot(chain, slot),
      data: { chain: chain.name, slot, root },
    }),
  )
  return { ...NO_HEAD_EVENTS, 'execution.blocks': execution, 'beacon.blocks': beacon }
}

/** ISO 8601. */
export function timeOfSlot({ clock }: NamedChain, slot: number): string {
  return formatInstant(slotTimeSec(clock, slot))
}
