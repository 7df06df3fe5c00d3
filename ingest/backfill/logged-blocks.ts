import { epochOf, slotAt } from '../../schemas/eth/time.ts'
import { beaconBlock, beaconBlockReverted } from '../../schemas/events/beacon-block.ts'
import { ownEvents } from '../own-events.ts'
import type { EpochRange } from './epoch-range.ts'
import type { LoggedEpochsOptions } from './logged-epochs.ts'

/** Roots of the blocks of a range that are in the log and were not taken back: their execution blocks are too, since they are appended first. */
export async function loggedBlocks(
  options: LoggedEpochsOptions,
  { fromEpoch, toEpoch }: EpochRange,
): Promise<ReadonlySet<string>> {
  const { clock } = options
  const roots = new Set<string>()
  for await (const { event } of ownEvents({ ...options, topic: 'beacon.blocks' })) {
    const epoch = epochOf(clock, slotAt(clock, Date.parse(event.time) / 1000))
    if (epoch < fromEpoch || epoch > toEpoch) continue
    if (event.type === beaconBlock.name) roots.add(rootOf(event.id))
    else if (event.type === beaconBlockReverted.name) roots.delete(rootOf(event.id))
  }
  return roots
}

/** Ids end with the root. */
function rootOf(id: string): string {
  return id.slice(id.lastIndexOf(':') + 1)
}
