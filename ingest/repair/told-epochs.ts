import type { BeaconBlock } from '../../infra/ports/beacon-source.ts'
import { epochBlocks, type FinalizedBlock } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import type { ChainLog } from '../cursor.ts'
import { ownEvents } from '../own-events.ts'

/** The blocks of an epoch as far as it takes to compare them: a root commits to all that came before it. */
export interface ToldBlocks {
  readonly count: number
  /** What the first of them continues, and the last one's root; undefined where there is none. */
  readonly parent: string | undefined
  readonly last: string | undefined
  /** Whether each continues the one before it. */
  readonly isLinked: boolean
}

type Rooted = Pick<BeaconBlock | FinalizedBlock, 'root' | 'parentRoot'>

export function toldBlocks(blocks: readonly Rooted[]): ToldBlocks {
  const isLinked = blocks.every(({ parentRoot }, i) => i === 0 || parentRoot === blocks[i - 1]?.root)
  return { count: blocks.length, parent: blocks[0]?.parentRoot, last: blocks.at(-1)?.root, isLinked }
}

export function isSame(a: ToldBlocks, b: ToldBlocks): boolean {
  return a.count === b.count && a.parent === b.parent && a.last === b.last && a.isLinked === b.isLinked
}

/** What a log tells of the finalized epochs of a chain. */
export interface ToldEpochs {
  /** By every event that counts: each has left rows. */
  readonly told: ReadonlyMap<number, readonly ToldBlocks[]>
  /** Epochs that were taken back and that no event has told again. */
  readonly takenBack: ReadonlySet<number>
}

export async function toldEpochs(options: Omit<ChainLog, 'writer'>, signal: AbortSignal): Promise<ToldEpochs> {
  const told = new Map<number, ToldBlocks[]>()
  const takenBack = new Set<number>()
  const onRetracted: Parameters<typeof ownEvents>[0]['onRetracted'] = ({ event }) => {
    if (event.type === epochBlocks.name) takenBack.add(Number(event.id.split(':').at(-1)))
  }
  for await (const { event } of ownEvents({ ...options, topic: 'beacon.epochs', signal, onRetracted })) {
    if (event.type !== epochBlocks.name) continue
    const read = unlessUndecodable(() => decodeEvent(epochBlocks, event, options.unnamedChain))
    if (read === undefined) continue // it has left no rows
    const { epoch, blocks } = read.header
    const one = toldBlocks(blocks)
    const known = told.get(epoch) ?? []
    if (!known.some((other) => isSame(other, one))) told.set(epoch, [...known, one])
  }
  for (const epoch of told.keys()) takenBack.delete(epoch)
  return { told, takenBack }
}
