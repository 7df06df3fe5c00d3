import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../schemas/errors.ts'
import { type Hex, hexOf } from '../../schemas/eth/hex.ts'
import { type ChainClock, slotAt, slotTimeSec } from '../../schemas/eth/time.ts'
import { lockDirectory } from '../directory-lock.ts'
import { openArchive } from './archive/archive.ts'
import { openBeaconApi } from './beacon-api/open-beacon-api.ts'
import { PAST_SCHEMA, STATE_INTERVAL_SLOTS } from './consensus/archived-past.ts'
import { Chain } from './consensus/chain.ts'
import { devnetClock } from './consensus/chain-config.ts'
import { createChainEvents } from './consensus/chain-event.ts'
import { depositDataFor } from './consensus/deposits.ts'
import { ExitPool } from './consensus/exit-pool.ts'
import { GENESIS_VALIDATORS } from './consensus/genesis-validators.ts'
import { useNativeHasher } from './consensus/hasher.ts'
import type { History } from './consensus/history.ts'
import { feeRecipientOf } from './consensus/keys.ts'
import { stateAt } from './consensus/regenerate.ts'
import { openThreadSigner } from './consensus/thread-signer.ts'
import { BLOCKS_SCHEMA } from './execution/archived-blocks.ts'
import { openExecutionEngine } from './execution/open.ts'
import { defaultDeposits } from './execution/scenario.ts'
import { devnetGenesisTime } from './genesis-time.ts'
import { claimIdentity, DEVNET_IDENTITY_FILE, readIdentity } from './identity.ts'
import { openJournal } from './journal.ts'
import { archived, type EngineSetup, type ListeningEngine, type OpenEngine, openLayersOrAnew } from './layers.ts'
import { metadataUrlOf } from './metadata/documents.ts'
import { openMetadataServer } from './metadata/open-metadata-server.ts'
import { defaultScenario, type Scenario, SECONDS_PER_SLOT_MAINNET } from './scenario.ts'
import { openSecondChain, type SecondChainOptions } from './second/open.ts'
import { type DevnetProgress, followClock, SlotRunner } from './slot-runner.ts'
import { type Destination, type Journey, type Leg, TimeLapse } from './time-lapse.ts'
import { openTimeShift } from './time-shift.ts'
import { openClientFiles, openMemoryFiles } from './validator-client/client-files.ts'
import { openKeymanagerApi } from './validator-client/open-keymanager-api.ts'
import { ValidatorClient } from './validator-client/validator-client.ts'

const ARCHIVE_FILE = 'devnet.sqlite'
const TRANSACTIONS_FILE = 'devnet-transactions.jsonl'

/** The fee recipient of this validator is a contract that refuses plain transfers. */
export const CONTRACT_RECIPIENT_VALIDATOR = 30

export interface DevnetOptions {
  /** Everything random comes from it. */
  readonly seed?: string | number
  /** Unix seconds of slot 0; by default two complete UTC+8 days lie before today. */
  readonly genesisTimeSec?: number
  readonly validators?: number
  readonly host?: string
  /** 0 takes a free one. */
  readonly beaconPort?: number
  readonly executionPort?: number
  /** Of the validator client's Keymanager API: 0 takes a free one; without it nobody can give it keys. */
  readonly validatorPort?: number | undefined
  /** Where documents of tokens are served: 0 takes a free one, which the tokens do not name; without it nobody serves them. */
  readonly metadataPort?: number | undefined
  /** `follow` produces everything up to `now` and then a slot when its time has come; `manual` produces what `advanceTo` asks for. */
  readonly clock?: 'follow' | 'manual'
  /** Unix seconds. */
  readonly now?: () => number
  readonly scenario?: Scenario
  /** A chain of execution blocks alone beside the Ethereum, by the same clock; none unless given. */
  readonly second?: SecondChainOptions | undefined
  /** Where the chain is kept, with its identity and what came from outside, so that a restart goes on with the same chain. */
  readonly directory?: string
  /** Slots from one checkpoint to the next, a multiple of an epoch's; `STATE_INTERVAL_SLOTS` unless given. */
  readonly checkpointSlots?: number
  /** Told when what the directory holds is of no use, and the chain is made again from its beginning. */
  readonly onStartAnew?: (reason: string) => void
  readonly signal?: AbortSignal
  /** Once a second while slots are produced, and when the target is reached. */
  readonly onProgress?: (progress: DevnetProgress) => void
  readonly openEngine?: OpenEngine
}

export interface Devnet extends AsyncDisposable {
  readonly seed: string
  readonly clock: ChainClock
  readonly chainId: number
  readonly depositContractAddress: Hex
  readonly beaconUrl: string
  readonly executionUrl: string
  /** JSON-RPC of the second chain, when there is one. */
  readonly secondUrl: string | undefined
  /** Where documents of tokens are served, when they are. */
  readonly metadataUrl: string | undefined
  /** The validator client's Keymanager API and the token for it, when it is served. */
  readonly validatorClient: { readonly url: string; readonly token: string } | undefined
  readonly headSlot: number
  /** Balances by slot, blocks, rewards: what an oracle reads. Not to be changed. */
  readonly history: History
  /** SSZ of the whole state (fulu.BeaconState) as of a canonical slot. */
  stateBytes(slot: number): Uint8Array
  /** Produces slots until the head is at this one; for the manual clock. */
  advanceTo(slot: number): Promise<void>
  /**
   * Leads a chain that follows the clock through slots that are still to come, as fast as they can be made; its clock stays ahead by that
   * afterwards. `onSlot` is told of every slot.
   */
  lead(to: Destination, onSlot?: (leg: Leg) => void): Promise<Journey>
  /** Seconds that the clock of the Ethereum is ahead of this machine's. */
  readonly aheadSec: number
  /** Makes blocks of the second chain until its head is this one; for the manual clock. */
  advanceSecondTo(number: number): Promise<void>
  /** As `SecondChain.orphan`. */
  orphanSecond(depth: number): number
  /** Follow mode: resolves when the signal aborts or the devnet is disposed, rejects when a chain cannot go on. */
  readonly finished: Promise<void>
}

/** What the Ethereum is made from: with these and the journals the same chain comes out, block for block. */
type DevnetIdentity = Readonly<{
  seed: string
  metadataUrl: string
  scenarioVersion: string
  secondsPerSlot: number
  genesisTimeSec: number
  validators: number
}>

/** What is asked for; else what the directory holds; else the defaults. */
function identityOf(options: DevnetOptions, now: () => number, scenario: Scenario): DevnetIdentity {
  const path = options.directory === undefined ? undefined : join(options.directory, DEVNET_IDENTITY_FILE)
  const known = path === undefined ? undefined : (readIdentity(path) as DevnetIdentity | undefined)
  const { version: scenarioVersion, secondsPerSlot = SECONDS_PER_SLOT_MAINNET } = scenario
  const identity = {
    seed: String(options.seed ?? known?.seed ?? 'epochline'),
    scenarioVersion,
    secondsPerSlot,
    metadataUrl: metadataUrlOf(options.metadataPort),
    genesisTimeSec: options.genesisTimeSec ?? known?.genesisTimeSec ?? devnetGenesisTime(now(), secondsPerSlot),
    validators: options.validators ?? known?.validators ?? GENESIS_VALIDATORS,
  }
  if (path !== undefined) claimIdentity(path, identity)
  return identity
}

function openAnvilEngine(setup: EngineSetup): Promise<ListeningEngine> {
  const { seed, metadataUrl, genesisTimeSec, validators, host, port, directory, archive } = setup
  return openExecutionEngine({
    seed,
    metadataUrl,
    genesisTimeSec,
    host,
    port,
    depositsFor: depositDataFor,
    deposits: defaultDeposits(validators),
    contractRecipients: [feeRecipientOf(CONTRACT_RECIPIENT_VALIDATOR)],
    archive,
    ...(directory === undefined ? {} : { journalFile: join(directory, TRANSACTIONS_FILE) }),
  })
}

/** Keeps every other devnet out of the directory, which is made when it is new. Throws AppError `usage` when one is in it. */
function holdDirectory(directory: string): Disposable {
  mkdirSync(directory, { recursive: true })
  return lockDirectory(directory, 'The devnet in this data folder')
}

/**
 * Opens both layers and their servers, and the second chain; the first answers come at once, history grows while they are given.
 * In follow mode it is produced in the background: see `finished`. Throws AppError `config` for a directory of another chain or a
 * taken port, `usage` for a directory that another devnet holds.
 */
export async function openDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  useNativeHasher()
  const { host = '127.0.0.1', beaconPort = 5052, executionPort = 8545, directory, scenario = defaultScenario } = options
  const { openEngine = openAnvilEngine, onStartAnew = () => {}, checkpointSlots = STATE_INTERVAL_SLOTS } = options
  const wallNow = options.now ?? (() => Date.now() / 1000)
  const controller = new AbortController()
  const signal = AbortSignal.any([controller.signal, ...(options.signal === undefined ? [] : [options.signal])])

  await using opening = new AsyncDisposableStack()
  if (directory !== undefined) opening.use(holdDirectory(directory))
  const { metadataPort } = options
  // Before the directory says for good which port it is.
  const metadata =
    metadataPort === undefined
      ? undefined
      : opening.use(await openMetadataServer({ host: '127.0.0.1', port: metadataPort }))
  const { seed, metadataUrl, genesisTimeSec, validators } = identityOf(options, wallNow, scenario)
  const archive =
    directory === undefined
      ? undefined
      : opening.use(openArchive(join(directory, ARCHIVE_FILE), PAST_SCHEMA + BLOCKS_SCHEMA, onStartAnew))
  const setup = { seed, metadataUrl, genesisTimeSec, validators, host, port: executionPort, directory, archive }
  const layers = await openLayersOrAnew(setup, { scenario, openEngine, checkpointSlots, onStartAnew })
  const { genesis, past, restart } = layers
  const engine = opening.use(layers.engine)
  const thread = opening.use(openThreadSigner())
  const { chainId, depositContractAddress } = engine
  const immutable = { config: genesis.config, pubkeyCache: genesis.state.epochCtx.pubkeyCache }
  const events = createChainEvents()
  const exits = new ExitPool(openJournal(directory))
  const clock = devnetClock(genesis.config, genesisTimeSec)
  const following = options.clock !== 'manual'
  const shift = openTimeShift(directory, clock.secondsPerSlot * clock.slotsPerEpoch)
  const now = () => wallNow() + shift.aheadSec
  const clientFiles = directory === undefined ? openMemoryFiles() : openClientFiles(directory)
  // Before a restart the chain was where the clock is, at most.
  const madeUpTo = (): number => Math.max(chain.headSlot, following ? slotAt(clock, now()) : 0)
  const client = new ValidatorClient(clientFiles, madeUpTo)
  const chain = new Chain({ seed, scenario, genesis, engine, events, exits, restart, past, thread, outside: client })
  const { history } = chain
  let timeLapse: TimeLapse | undefined
  const context = {
    config: genesis.config,
    genesisTimeSec,
    chainId,
    depositContractAddress,
    history,
    events,
    exits,
    headState: () => chain.state,
    stateAt: (slot: number) => stateAt(history, immutable, slot),
    targetSlot: () => timeLapse?.targetSlot ?? history.headSlot,
  }
  const api = opening.use(await openBeaconApi(context, { host, port: beaconPort }))
  const producer =
    archive === undefined || past === undefined
      ? chain
      : archived({ archive, past, chain, engine, checkpointSlots, targetSlot: context.targetSlot }, restart)
  const runner = new SlotRunner(producer, signal, options.onProgress)
  if (following) timeLapse = new TimeLapse({ runner, history, clock, shift, now })
  const keymanager =
    options.validatorPort === undefined
      ? undefined
      : opening.use(
          await openKeymanagerApi({
            host,
            port: options.validatorPort,
            token: clientFiles.token,
            client,
            genesisValidatorsRoot: hexOf(chain.state.genesisValidatorsRoot),
          }),
        )
  opening.defer(() => runner.idle())
  const mode = following ? 'follow' : 'manual'
  const second =
    options.second === undefined
      ? undefined
      : opening.use(
          await openSecondChain({
            ...options.second,
            seed,
            metadataUrl,
            host,
            directory,
            clock: mode,
            now: wallNow,
            signal,
            onStartAnew,
          }),
        )
  opening.defer(() => controller.abort())
  const slots = {
    slotAt: (unixSec: number) => slotAt(clock, unixSec),
    slotTimeSec: (slot: number) => slotTimeSec(clock, slot),
  }
  const ethereumFinished = following ? followClock({ runner, ...slots, now, signal }) : Promise.resolve()
  const finished = Promise.all([ethereumFinished, second?.finished]).then(() => {})
  finished.catch(() => {}) // its failure belongs to whoever awaits it
  const open = opening.move()
  return {
    seed,
    clock,
    chainId,
    depositContractAddress,
    beaconUrl: api.url,
    executionUrl: engine.url,
    secondUrl: second?.url,
    metadataUrl: metadata?.url,
    validatorClient: keymanager === undefined ? undefined : { url: keymanager.url, token: clientFiles.token },
    history,
    finished,
    get headSlot() {
      return history.headSlot
    },
    stateBytes: (slot) => stateAt(history, immutable, slot).serialize(),
    advanceTo: (slot) => runner.advanceTo(slot),
    async lead(to, onSlot = () => {}) {
      if (timeLapse === undefined) throw new Error('this devnet does not follow the clock')
      return timeLapse.lead(to, onSlot)
    },
    get aheadSec() {
      return shift.aheadSec
    },
    orphanSecond(depth) {
      if (second === undefined) throw new AppError('usage', 'This devnet has no second chain.')
      return second.orphan(depth)
    },
    async advanceSecondTo(number) {
      if (second === undefined) throw new Error('this devnet has no second chain')
      await second.advanceTo(number)
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
