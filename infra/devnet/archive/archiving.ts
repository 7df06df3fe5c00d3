import type { SlotProducer } from '../slot-runner.ts'
import type { Archive, Write } from './archive.ts'

export interface Archiving {
  readonly archive: Archive
  readonly chain: SlotProducer
  /** Whether the chain may go on from this slot after a restart. */
  isCheckpoint(slot: number): boolean
  /** The slot that the chain is on its way to. */
  targetSlot(): number
  /** Prepares everything from the slot after `last` to the head; undefined when the head is no place to go on from. */
  prepare(last: number): Promise<readonly Write[] | undefined>
  /** Everything up to this slot is in the archive. */
  onArchived?(slot: number): void
}

/** In time-lapse a checkpoint's cost would be felt: fewer are made, and a crash costs as many slots more. */
const TIME_LAPSE_SLOTS = 2_048

/** The chain with a checkpoint after every slot that is to have one. `last` is the newest checkpoint that there is; -1 for none. */
export function archiving(options: Archiving, last: number): SlotProducer {
  const { archive, chain } = options

  function isDue(slot: number): boolean {
    if (!options.isCheckpoint(slot)) return false
    return slot - last >= TIME_LAPSE_SLOTS || options.targetSlot() - slot < TIME_LAPSE_SLOTS / 2
  }

  return {
    get headSlot() {
      return chain.headSlot
    },
    async produceSlot(aheadTo) {
      const isNext = isDue(chain.headSlot + 1)
      await chain.produceSlot(isNext ? chain.headSlot + 1 : aheadTo)
      const slot = chain.headSlot
      if (!isDue(slot)) return
      const writes = await options.prepare(last)
      if (writes === undefined) return
      archive.commit(writes)
      last = slot
      options.onArchived?.(slot)
    },
  }
}
