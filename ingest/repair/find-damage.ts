import type { BeaconBlock, BeaconChain, BeaconSource, FinalizedCheckpoint } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import { epochOf } from '../../schemas/eth/time.ts'
import { beaconBlock, beaconBlockReverted } from '../../schemas/events/beacon-block.ts'
import { decodeEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import type { LoggedBlock } from '../../schemas/events/cursor.ts'
import { type ChainLog, Cursor } from '../cursor.ts'
import { EPOCHS_CURSOR } from '../epochs/epoch-follower.ts'
import { FinalWalk } from '../epochs/final-walk.ts'
import { ToldCheckpoints } from '../epochs/told-checkpoints.ts'
import { ownEvents } from '../own-events.ts'
import { refuseOtherNetwork } from '../right-nodes.ts'
import { isSame, type ToldBlocks, type ToldEpochs, toldBlocks, toldEpochs } from './told-epochs.ts'

/** Epochs of one walk over the node's blocks: as many as are in memory at once. */
const EPOCHS_PER_WALK = 64

export interface Comparing extends Omit<ChainLog, 'writer'> {
  readonly beacon: BeaconSource
}

/** What of a log is not of the final chain, and what it has to go on from. */
export interface Damage {
  readonly chain: BeaconChain
  /** Finalized epochs of the log from this one on, up to the last that it has. */
  readonly fromEpoch: number
  readonly toEpoch: number
  /** Whether they have to be read again: some are orphaned or lacking, or it was asked for. */
  readonly areEpochsWrong: boolean
  /** Those of which an event tells of other blocks than the final chain has. */
  readonly orphaned: readonly number[]
  /** Those that were taken back and that the ingester has passed without telling them again. */
  readonly lacking: readonly number[]
  /** Root of the newest final block before them. */
  readonly after: string
  /** Blocks that stand in the log as the head's and have to be reverted, oldest first: from the first that is not final. */
  readonly headBlocks: readonly LoggedBlock[]
  /** The newest final block before those. */
  readonly headAfter: LoggedBlock | undefined
}

/**
 * Compares all finalized epochs of a log, or those from `fromEpoch` on, with the chain that the walk back from the finalized root
 * reaches, and the blocks that it took for the head's with those of the last epochs. The node is asked for the newest epochs; what
 * those before them tell has to be what the roots commit to, and where it is not the node is asked again. Throws AppErrors of
 * node faults; `usage` when the log holds no epochs, or more of them than are final by the node.
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
  const reached = await nextEpoch(options, chain, signal)
  const epochs = await toldEpochs(options, signal)
  // Behind an interruption the log may have epochs that its cursor has gone back before.
  const told = [...epochs.told.keys()].sort((a, b) => a - b)
  const next = Math.max(reached, (told.at(-1) ?? -1) + 1)
  refuseAhead(options.chain, next, checkpoint.epoch)
  const lacking = [...epochs.takenBack].filter((epoch) => epoch < reached).sort((a, b) => a - b)
  const oldest = leastOf(told[0], lacking[0])
  const wanted = fromEpoch === undefined ? undefined : Math.max(oldest, fromEpoch)
  if (told.length + lacking.length === 0 || (wanted ?? oldest) >= next) {
    const what = told.length === 0 ? 'no finalized epochs' : `finalized epochs up to ${next - 1}`
    throw new AppError('usage', `The log has ${what} of ${options.chain}; nothing was changed.`)
  }
  const compared = await compare({ beacon, chain, checkpoint }, { ...epochs, lacking, wanted }, signal)
  const { orphaned } = compared
  const first = wanted ?? leastOf(orphaned[0], lacking[0])
  const isWrong = first !== Number.POSITIVE_INFINITY
  const headBlocks = await headDamage(options, compared, chain, signal)
  return {
    chain,
    fromEpoch: isWrong ? first : oldest,
    toEpoch: next - 1,
    areEpochsWrong: isWrong,
    orphaned,
    lacking,
    after: compared.before.get(isWrong ? first : oldest) ?? checkpoint.root,
    headBlocks,
    headAfter: await blockBefore(beacon, { compared, chain, isFromGenesis: oldest === 0 }, headBlocks[0]),
  }
}

function leastOf(...numbers: readonly (number | undefined)[]): number {
  return Math.min(...numbers.map((number) => number ?? Number.POSITIVE_INFINITY))
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

interface Node {
  readonly beacon: BeaconSource
  readonly chain: BeaconChain
  readonly checkpoint: FinalizedCheckpoint
}

interface Compared {
  readonly orphaned: readonly number[]
  /** By epoch, the root of the newest final block before it. */
  readonly before: ReadonlyMap<number, string>
  /** The final blocks of the epochs that the node was asked for, as the head would have them in the log. */
  readonly walked: ReadonlyMap<number, readonly LoggedBlock[]>
}

async function compare(
  node: Node,
  {
    told,
    lacking,
    wanted = 0,
  }: ToldEpochs & { readonly lacking: readonly number[]; readonly wanted: number | undefined },
  signal: AbortSignal,
): Promise<Compared> {
  const epochs = [...new Set([...told.keys(), ...lacking, wanted])]
    .filter((epoch) => epoch >= wanted && (epoch > 0 || told.has(0) || lacking.includes(0)))
    .sort((a, b) => b - a)
  const orphaned: number[] = []
  const before = new Map<number, string>()
  const walked = new Map<number, readonly LoggedBlock[]>()
  /** Root of the newest final block up to the end of the next epoch of the list. */
  let end: string | undefined
  /** Epochs just passed that the log tells to be empty, which only the block before them can tell. */
  let empty = 0
  for (let at = 0; at < epochs.length; ) {
    const epoch = epochs[at] as number
    if (at > 0 && epochs[at - 1] !== epoch + 1) end = undefined
    const parent = end === undefined ? undefined : linkedParent(told.get(epoch), end)
    if (parent !== undefined) {
      before.set(epoch, parent)
      empty = parent === end ? empty + 1 : 0
      end = parent
      at++
      continue
    }
    const to = end === undefined ? epoch : epoch + empty
    let from = epoch
    for (at++; at < epochs.length && epochs[at] === from - 1 && to - from < EPOCHS_PER_WALK - 1; at++) from--
    const walk = walkOver(node, { from, to }, signal)
    for (let one = to; one >= from; one--) {
      const { blocks, endRoot } = await walk.blocksOf(one)
      walked.set(one, blocks.map(toLogged))
      end = blocks[0]?.parentRoot ?? endRoot
      before.set(one, end)
      const right = toldBlocks(blocks)
      if ((told.get(one) ?? []).some((wrong) => !isSame(wrong, right))) orphaned.unshift(one)
    }
    empty = 0
  }
  return { orphaned: orphaned.sort((a, b) => a - b), before, walked }
}

/** What an epoch continues that ends with the given root, if all that the log tells of it does. */
function linkedParent(told: readonly ToldBlocks[] | undefined, end: string): string | undefined {
  const [one, ...others] = told ?? []
  if (one === undefined || others.length > 0 || !one.isLinked) return undefined
  if (one.count === 0) return end
  return one.last === end ? one.parent : undefined
}

function walkOver(
  { beacon, chain, checkpoint }: Node,
  stretch: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): FinalWalk {
  const final = beacon.finalChain(checkpoint)
  return new FinalWalk(
    { beacon, final, clock: chain.clock, checkpoint, told: new ToldCheckpoints(), ...stretch },
    signal,
  )
}

type BlockNames = Pick<BeaconBlock, 'slot' | 'root' | 'executionBlockHash' | 'executionBlockNumber'>

function toLogged({ slot: height, root: id, executionBlockHash, executionBlockNumber }: BlockNames): LoggedBlock {
  return { height, id, executionBlockHash, executionBlockNumber }
}

/** The standing blocks of the log from the first on that lies in an epoch that was walked over and is none of its blocks. */
async function headDamage(
  options: Comparing,
  { walked }: Compared,
  { clock }: BeaconChain,
  signal: AbortSignal,
): Promise<readonly LoggedBlock[]> {
  const oldest = walked.keys().reduce((least, epoch) => Math.min(least, epoch), Number.POSITIVE_INFINITY)
  const standing = new Map<string, LoggedBlock>()
  for await (const { event } of ownEvents({ ...options, topic: 'beacon.blocks', signal })) {
    unlessUndecodable(() => {
      if (event.type === beaconBlock.name) {
        const block = decodeEvent(beaconBlock, event, options.unnamedChain)
        if (epochOf(clock, block.slot) >= oldest) standing.set(block.root, toLogged(block))
      } else if (event.type === beaconBlockReverted.name) {
        standing.delete(decodeEvent(beaconBlockReverted, event, options.unnamedChain).root)
      }
    })
  }
  const final = new Set([...walked.values()].flatMap((blocks) => blocks.map(({ id }) => id)))
  const blocks = [...standing.values()].sort((a, b) => a.height - b.height)
  const wrong = blocks.findIndex(({ height, id }) => walked.has(epochOf(clock, height)) && !final.has(id))
  return wrong === -1 ? [] : blocks.slice(wrong)
}

/** The newest final block before one of an epoch that was walked over. */
async function blockBefore(
  beacon: BeaconSource,
  { compared, chain, isFromGenesis }: { compared: Compared; chain: BeaconChain; isFromGenesis: boolean },
  first: LoggedBlock | undefined,
): Promise<LoggedBlock | undefined> {
  if (first === undefined) return undefined
  const { before, walked } = compared
  const epoch = epochOf(chain.clock, first.height)
  const inEpoch = walked.get(epoch)?.findLast(({ height }) => height < first.height)
  if (inEpoch !== undefined) return inEpoch
  const root = before.get(epoch)
  // Many nodes do not have the block of slot 0.
  if (root === undefined || (isFromGenesis && root === before.get(0))) return undefined
  return toLogged(await beacon.blockByRoot(root))
}
