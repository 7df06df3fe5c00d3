import { join } from 'node:path'
import { AppError } from '../../../schemas/errors.ts'
import { type Archive, ArchiveUnusable, openArchive } from '../archive/archive.ts'
import { archiving } from '../archive/archiving.ts'
import { depositDataFor } from '../consensus/deposits.ts'
import { type ExecutionEngine, ROLLBACK_BLOCKS_MAX } from '../engine.ts'
import { BLOCKS_SCHEMA } from '../execution/archived-blocks.ts'
import type { Finality } from '../execution/block-lookup.ts'
import { SECOND_CHAIN_ID } from '../execution/genesis.ts'
import { openExecutionEngine } from '../execution/open.ts'
import { claimIdentity, readIdentity } from '../identity.ts'
import { METADATA_URL } from '../metadata/documents.ts'
import { followClock, type SlotProducer, SlotRunner } from '../slot-runner.ts'
import { openSchedule } from './schedule.ts'
import { Sequencer, type SequencerCheckpoint } from './sequencer.ts'

export interface SecondChainOptions {
  /** 0 takes a free one; `SECOND_PORT` unless given. */
  readonly port?: number
  /** Whole seconds; `SECOND_BLOCK_TIME_SEC` unless given. */
  readonly blockTimeSec?: number
  /** Unix seconds of block 0; `SECOND_HISTORY_SEC` before the start unless given. */
  readonly genesisTimeSec?: number
  /** False: its node knows neither `finalized` nor `safe`, so that readers have to count blocks. */
  readonly finalityTags?: boolean
}

/** What the devnet gives its second chain. */
export interface SecondChainSetup extends SecondChainOptions {
  /** The devnet's. */
  readonly seed: string
  /** As the devnet's; `METADATA_URL` unless given. */
  readonly metadataUrl?: string
  readonly host: string
  readonly directory: string | undefined
  readonly clock: 'follow' | 'manual'
  /** Unix seconds. */
  readonly now: () => number
  readonly signal: AbortSignal
  /** As the devnet's. */
  readonly onStartAnew?: (reason: string) => void
}

/** A chain of execution blocks alone. */
export interface SecondChain extends AsyncDisposable {
  readonly chainId: number
  readonly url: string
  readonly headNumber: number
  advanceTo(number: number): Promise<void>
  /**
   * Has the newest blocks orphaned: those that are the newest when the block that it returns is the head, so soon as no checkpoint lies
   * among them. The next block then comes on another branch. Throws AppError `usage` for a depth that cannot be.
   */
  orphan(depth: number): number
  /** As the devnet's. */
  readonly finished: Promise<void>
}

export const SECOND_PORT = 8546
/** Scroll's own pace. */
export const SECOND_BLOCK_TIME_SEC = 3
/** What a new chain begins with: 1,200 blocks, three reorgs, and no more than some seconds of work at the start. */
export const SECOND_HISTORY_SEC = 3_600
/** Part of the chain's identity: a change of what happens on it, or of how it is made, needs a new version. */
const SCENARIO_VERSION = 'rollup-6'

/** The tags are this many blocks behind the head: deeper than any reorg, and soon reached in a test. */
const FINALITY: Finality = { kind: 'tags', finalizedBlocks: 64, safeBlocks: 32 }

/** Ten minutes at three seconds a block; far from where reorgs are, which reach back to blocks 37, 439 … (reorgs.ts). */
const CHECKPOINT_INTERVAL_BLOCKS = 200
const CHECKPOINT_OFFSET_BLOCKS = 140

const CHECKPOINT_PART = 'sequencer'

const ARCHIVE_FILE = 'second.sqlite'
const IDENTITY_FILE = 'second.json'
const SCHEDULE_FILE = 'second-schedule.jsonl'
const TRANSACTIONS_FILE = 'second-transactions.jsonl'

/** What the second chain is made from, besides the devnet's seed. */
type SecondIdentity = Readonly<{
  metadataUrl: string
  genesisTimeSec: number
  blockTimeSec: number
  scenarioVersion: string
}>

function identityOf(setup: SecondChainSetup): SecondIdentity {
  const path = setup.directory === undefined ? undefined : join(setup.directory, IDENTITY_FILE)
  const known = path === undefined ? undefined : (readIdentity(path) as SecondIdentity | undefined)
  const identity = {
    metadataUrl: setup.metadataUrl ?? METADATA_URL,
    genesisTimeSec: setup.genesisTimeSec ?? known?.genesisTimeSec ?? Math.floor(setup.now()) - SECOND_HISTORY_SEC,
    blockTimeSec: setup.blockTimeSec ?? known?.blockTimeSec ?? SECOND_BLOCK_TIME_SEC,
    scenarioVersion: SCENARIO_VERSION,
  }
  if (path !== undefined) claimIdentity(path, identity)
  return identity
}

/**
 * Opens an EVM chain without a beacon chain, made by one sequencer on an anvil of its own. The same seed, genesis and block time
 * give the same blocks, hash for hash. Accounts and contracts have the addresses that they have on the Ethereum beside it, so that
 * a reader who leaves out the chain mixes up the two. Throws AppError `config` for a directory of another chain or a taken port.
 */
export async function openSecondChain(setup: SecondChainSetup): Promise<SecondChain> {
  const { host, port = SECOND_PORT, directory, now, onStartAnew = () => {} } = setup
  const { metadataUrl, genesisTimeSec, blockTimeSec } = identityOf(setup)
  const seed = `${setup.seed} second` // other transactions than on the Ethereum
  await using opening = new AsyncDisposableStack()
  const archive =
    directory === undefined
      ? undefined
      : opening.use(openArchive(join(directory, ARCHIVE_FILE), BLOCKS_SCHEMA, onStartAnew))
  const open = () =>
    openExecutionEngine({
      seed,
      metadataUrl,
      genesisTimeSec,
      host,
      port,
      portSetting: 'DEVNET_SECOND_PORT',
      chainId: SECOND_CHAIN_ID,
      profile: 'rollup',
      finality: setup.finalityTags === false ? { kind: 'none' } : FINALITY,
      depositsFor: depositDataFor,
      deposits: [],
      archive,
      ...(directory === undefined ? {} : { journalFile: join(directory, TRANSACTIONS_FILE) }),
    })
  const engine = opening.use(await openOrAnew(open, archive, onStartAnew))
  const controller = new AbortController()
  const signal = AbortSignal.any([controller.signal, setup.signal])
  const following = setup.clock === 'follow'
  const schedule = openSchedule({
    genesisTimeSec,
    blockTimeSec,
    path: directory === undefined ? undefined : join(directory, SCHEDULE_FILE),
    nowSec: following ? now() : undefined,
  })
  const checkpoint = archive?.part(CHECKPOINT_PART) as SequencerCheckpoint | undefined
  const sequencer = new Sequencer({ seed, engine, schedule, checkpoint })
  const targetNumber = () => (following ? schedule.numberAt(now()) : sequencer.headSlot)
  const producer = archive === undefined ? sequencer : archived({ archive, sequencer, engine, targetNumber })
  const runner = new SlotRunner(producer, signal, undefined)
  const slots = { slotAt: schedule.numberAt, slotTimeSec: schedule.timeSec } // no slot is ever without a block
  const finished = following ? followClock({ runner, ...slots, now, signal }) : Promise.resolve()
  finished.catch(() => {}) // its failure belongs to whoever awaits it
  opening.defer(() => runner.idle())
  opening.defer(() => controller.abort())
  const all = opening.move()
  return {
    chainId: SECOND_CHAIN_ID,
    url: engine.url,
    finished,
    get headNumber() {
      return sequencer.headSlot
    },
    orphan(depth) {
      if (!Number.isInteger(depth) || depth < 1 || depth > ROLLBACK_BLOCKS_MAX)
        throw new AppError('usage', `A reorg is 1 to ${ROLLBACK_BLOCKS_MAX} blocks deep.`)
      const after = orphanableFrom(Math.max(sequencer.nextHead, depth), depth, archive !== undefined)
      schedule.orphan(after, depth)
      return after
    },
    advanceTo: (number) => runner.advanceTo(number),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

function isCheckpoint(number: number): boolean {
  return number % CHECKPOINT_INTERVAL_BLOCKS === CHECKPOINT_OFFSET_BLOCKS
}

/** The first head from this one on that may be orphaned with so many blocks: a restart goes on from a checkpoint, which has to stay. */
function orphanableFrom(head: number, depth: number, hasCheckpoints: boolean): number {
  const sinceCheckpoint = (head - CHECKPOINT_OFFSET_BLOCKS) % CHECKPOINT_INTERVAL_BLOCKS
  const isNear = hasCheckpoints && sinceCheckpoint >= 0 && sinceCheckpoint < depth
  return isNear ? head - sinceCheckpoint + depth : head
}

/** An archive that is of no use is emptied, and the chain begins anew. */
async function openOrAnew<Engine>(
  open: () => Promise<Engine>,
  archive: Archive | undefined,
  onStartAnew: (reason: string) => void,
): Promise<Engine> {
  try {
    return await open()
  } catch (error) {
    if (!(error instanceof ArchiveUnusable)) throw error
    onStartAnew(error.message)
    archive?.clear()
    return open()
  }
}

interface ArchivedSequencer {
  readonly archive: Archive
  readonly sequencer: Sequencer
  readonly engine: ExecutionEngine
  readonly targetNumber: () => number
}

/** The sequencer, with a checkpoint now and then, where no reorg will reach below it. */
function archived({ archive, sequencer, engine, targetNumber }: ArchivedSequencer): SlotProducer {
  const chain = {
    archive,
    chain: sequencer,
    targetSlot: targetNumber,
    isCheckpoint,
    async prepare() {
      const writeEngine = await engine.checkpoint?.()
      const checkpoint = sequencer.checkpoint()
      return writeEngine === undefined ? undefined : [writeEngine, () => archive.setPart(CHECKPOINT_PART, checkpoint)]
    },
  }
  return archiving(chain, sequencer.headSlot === 0 ? -1 : sequencer.headSlot)
}
