import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { type OwnEventsOptions, ownEvents } from '../own-events.ts'

/** The epoch that the log's first events of a chain are about; undefined while it has none. */
export async function firstEpoch(options: Omit<OwnEventsOptions, 'topic'>): Promise<number | undefined> {
  for await (const { event } of ownEvents({ ...options, topic: 'beacon.epochs' })) {
    if (event.type !== epochBlocks.name) continue
    const blocks = unlessUndecodable(() => decodeEvent(epochBlocks, event, options.unnamedChain))
    if (blocks !== undefined) return blocks.header.epoch
  }
  return undefined
}
