import type { BeaconBlock, BeaconChain, BeaconSource, FinalizedCheckpoint } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import { epochOf } from '../../schemas/eth/time.ts'
import { beaconBlock, beaconBlockReverted } from '../../schemas/events/beacon-block.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import type { LoggedBlock } from '../../schemas/events/cursor.ts'
import { type ChainLog, Cursor } from '../cursor.ts'
import { EPOCHS_CURSOR } from '../epochs/epoch-follower.ts'
import { FinalWalk } from '../epochs/final-walk.ts'
import { ToldCheckpoints } from '../epochs/told-checkpoints.ts'
import { ownEvents } from '../own-events.ts'
import { refuseOtherNetwork } from '../right-nodes.ts'

/** Epochs compared at once, going back; a stretch without a difference ends the search. */
const EPOCHS_PER_STRETCH = 64

export interface Comparing extends Omit<ChainLog, 'writer'> {
  readonly beacon: BeaconSource
}

/** What of a log is not of the final chain, and what it has to go on from. */
export interface Damage {
  readonly chain: BeaconChain
  /** Finalized epochs of the log from this one on, up to the last that it has. */
  readonly fromEpoch: number
  readonly toEpoch: number
  /** Whether they have to be read again: some are orphaned, or it was asked for. */
  readonly areEpochsWrong: boolean
  /** Those of them of which an event tells of other blocks than the final chain has. */
  readonly orphaned: readonly number[]
  /** Root of the newest final block before them. */
  readonly after: string
  /** Blocks that stand in the log as the head's and have to be reverted, oldest first: from the first that is not final. */
  readonly headBlocks: readonly LoggedBlock[]
  /** The newest final block before those. */
  readonly headAfter: LoggedBlock | undefined
}

/**
 * Compares the finalized epochs of a log, and the blocks that it took for the head's, with the chain that the walk back from the
 * finalized root reaches: as far back as they differ, or to `fromEpoch`. Throws AppErrors of node faults; `usage` when the
 * log holds no epochs, or more of them than are final by the node.
 */
export async function findDamage(
  options: Comparing,
  fromEpoch: number | undefined,
  signal: AbortSignal,
): Promise<Damage> {
  const { beacon } = options
  const chain = await beacon.chain()
  refuseOtherNetwork(options.chain, chain)
  const checkpoint = await beacon.finalized()
  const next = await nextEpoch(options, chain, signal)
  refuseAhead(options.chain, next, checkpoint.epoch)
  const logged = await loggedEpochs(options, signal)
  const oldest = Math.min(...logged.keys())
  const wanted = fromEpoch === undefined ? undefined : Math.max(oldest, fromEpoch)
  if (logged.size === 0 || (wanted ?? oldest) >= next) {
    const what = logged.size === 0 ? 'no finalized epochs' : `finalized epochs up to ${next - 1}`
    throw new AppError('usage', `The log has ${what} of ${options.chain}; nothing was changed.`)
  }
  const walked: BeaconBlock[] = []
  const orphaned: number[] = []
  let after = checkpoint.root
  let from = next
  while (from > (wanted ?? oldest)) {
    const to = from - 1
    from = Math.max(wanted ?? oldest, from - EPOCHS_PER_STRETCH)
    const before = orphaned.length
    const walk = walkOver({ beacon, chain, checkpoint }, { from, to }, signal)
    for (let epoch = to; epoch >= from; epoch--) {
      const { blocks, endRoot } = await walk.blocksOf(epoch)
      walked.unshift(...blocks)
      after = blocks[0]?.parentRoot ?? endRoot
      const roots = blocks.map(({ root }) => root).join()
      if ([...(logged.get(epoch) ?? [])].some((told) => told !== roots)) orphaned.unshift(epoch)
    }
    if (wanted === undefined && orphaned.length === before) break
  }
  const first = wanted ?? orphaned[0] ?? from
  const known = walked.filter(({ slot }) => epochOf(chain.clock, slot) >= first)
  const headBlocks = await headDamage(options, known, signal)
  return {
    chain,
    fromEpoch: first,
    toEpoch: next - 1,
    areEpochsWrong: orphaned.length > 0 || fromEpoch !== undefined,
    orphaned,
    after: first === from ? after : (walked.findLast(({ slot }) => epochOf(chain.clock, slot) < first)?.root ?? after),
    headBlocks,
    headAfter: await blockBefore(beacon, { walked, after, isFromGenesis: from === 0 }, headBlocks[0]),
  }
}

async function nextEpoch(options: Comparing, chain: BeaconChain, signal: AbortSignal): Promise<number> {
  const identity = formatBeaconIdentity(chain)
  const cursor = new Cursor({ ...options, writer: options.eventLog, name: EPOCHS_CURSOR, identity })
  return (await cursor.read(signal))?.next ?? 0
}

/** What lies behind the node's finality cannot be compared. */
function refuseAhead(name: string, next: number, finalEpoch: number): void {
  if (next <= finalEpoch) return
  throw new AppError(
    'usage',
    `The log has epochs of ${name} up to ${next - 1}, by the beacon node those before ${finalEpoch} are final: wait until more are; ` +
      'nothing was changed.',
  )
}

/** The roots of the blocks that events of an epoch tell, of every event that counts: each has left rows. */
async function loggedEpochs(options: Comparing, signal: AbortSignal): Promise<ReadonlyMap<number, Set<string>>> {
  const epochs = new Map<number, Set<string>>()
  for await (const { event } of ownEvents({ ...options, topic: 'beacon.epochs', signal })) {
    if (event.type !== epochBlocks.name) continue
    const { epoch, blocks } = decodeEvent(epochBlocks, event, options.unnamedChain).header
    const told = epochs.get(epoch) ?? new Set()
    epochs.set(epoch, told.add(blocks.map(({ root }) => root).join()))
  }
  return epochs
}

function walkOver(
  { beacon, chain, checkpoint }: { beacon: BeaconSource; chain: BeaconChain; checkpoint: FinalizedCheckpoint },
  stretch: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): FinalWalk {
  const final = beacon.finalChain(checkpoint)
  return new FinalWalk(
    { beacon, final, clock: chain.clock, checkpoint, told: new ToldCheckpoints(), ...stretch },
    signal,
  )
}

/** The standing blocks of the log from the first on that lies among the walked ones and is none of them. */
async function headDamage(
  options: Comparing,
  walked: readonly BeaconBlock[],
  signal: AbortSignal,
): Promise<readonly LoggedBlock[]> {
  const [first, last] = [walked[0], walked.at(-1)]
  if (first === undefined || last === undefined) return []
  const standing = new Map<string, LoggedBlock>()
  for await (const { event } of ownEvents({ ...options, topic: 'beacon.blocks', signal })) {
    if (event.type === beaconBlock.name) {
      const { slot, root, executionBlockHash, executionBlockNumber } = decodeEvent(
        beaconBlock,
        event,
        options.unnamedChain,
      )
      if (slot >= first.slot) standing.set(root, { height: slot, id: root, executionBlockHash, executionBlockNumber })
    } else if (event.type === beaconBlockReverted.name) {
      standing.delete(decodeEvent(beaconBlockReverted, event, options.unnamedChain).root)
    }
  }
  const final = new Set(walked.map(({ root }) => root))
  const blocks = [...standing.values()].sort((a, b) => a.height - b.height)
  const wrong = blocks.findIndex(({ height, id }) => height <= last.slot && !final.has(id))
  return wrong === -1 ? [] : blocks.slice(wrong)
}

async function blockBefore(
  beacon: BeaconSource,
  {
    walked,
    after,
    isFromGenesis,
  }: { readonly walked: readonly BeaconBlock[]; readonly after: string; readonly isFromGenesis: boolean },
  first: LoggedBlock | undefined,
): Promise<LoggedBlock | undefined> {
  if (first === undefined) return undefined
  const walkedBefore = walked.findLast(({ slot }) => slot < first.height)
  if (walkedBefore === undefined && isFromGenesis) return undefined // many nodes do not have the block of slot 0
  const block = walkedBefore ?? (await beacon.blockByRoot(after))
  const { slot: height, root: id, executionBlockHash, executionBlockNumber } = block
  return { height, id, executionBlockHash, executionBlockNumber }
}
