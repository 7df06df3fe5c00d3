import type { BeaconBlock, BeaconSource, EpochQuestion } from '../../infra/ports/beacon-source.ts'

const SLOTS_PER_EPOCH = 32

/** An epoch of the chain as the head shows it, which has a block at least. */
export async function askEpoch(
  source: BeaconSource,
  epoch: number,
): Promise<{ readonly blocks: readonly BeaconBlock[]; readonly question: EpochQuestion }> {
  const slots = Array.from({ length: SLOTS_PER_EPOCH }, (_, i) => epoch * SLOTS_PER_EPOCH + i).filter(
    (slot) => slot > 0,
  )
  const blocks = (await Promise.all(slots.map((slot) => source.blockAt(slot)))).filter((block) => block !== undefined)
  const parentRoot = blocks[0]?.parentRoot
  if (parentRoot === undefined) throw new Error(`epoch ${epoch} has no block`)
  return { blocks, question: { epoch, blockRoots: blocks.map(({ root }) => root), parentRoot, cutSlots: [] } }
}
