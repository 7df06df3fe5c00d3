import { type Archive, ArchiveUnusable, restoring } from './archive/archive.ts'
import { archiving } from './archive/archiving.ts'
import { ArchivedPast } from './consensus/archived-past.ts'
import type { Chain, ChainCheckpoint, Restart } from './consensus/chain.ts'
import { createGenesis, type Genesis } from './consensus/genesis.ts'
import type { ExecutionEngine } from './engine.ts'
import type { Scenario } from './scenario.ts'
import type { SlotProducer } from './slot-runner.ts'

/** Of the archive's checkpoint. */
const CHECKPOINT_PART = 'consensus'

/** Slots that stay in memory with everything about them, for readers that begin with the oldest: more than two days. */
const SLOTS_IN_MEMORY = 16_384

/** What the consensus side tells the execution side about the network. */
export interface EngineSetup {
  readonly seed: string
  /** Where tokens say that their documents are. */
  readonly metadataUrl: string
  readonly genesisTimeSec: number
  /** Number of genesis validators: deposits for new ones use the numbers from here on. */
  readonly validators: number
  readonly host: string
  readonly port: number
  readonly directory: string | undefined
  /** Where the engine goes on from and keeps what is old, together with the consensus side. */
  readonly archive: Archive | undefined
}

/** How both layers are opened. */
export interface Opening {
  readonly scenario: Scenario
  readonly openEngine: OpenEngine
  readonly checkpointSlots: number
  readonly onStartAnew: (reason: string) => void
}

/** An engine whose JSON-RPC listens somewhere. */
export type ListeningEngine = ExecutionEngine & { readonly url: string }

export type OpenEngine = (setup: EngineSetup) => Promise<ListeningEngine>

/** Both layers of the Ethereum, where they go on. */
export interface Layers {
  readonly engine: ListeningEngine
  readonly genesis: Genesis
  readonly past: ArchivedPast | undefined
  readonly restart: Restart | undefined
}

async function openLayers(setup: EngineSetup, { scenario, openEngine, checkpointSlots }: Opening): Promise<Layers> {
  const { seed, genesisTimeSec, validators, archive } = setup
  await using opening = new AsyncDisposableStack()
  const engine = opening.use(await openEngine(setup))
  const { chainId, depositContractAddress } = engine
  const { shardCommitteePeriodEpochs, withdrawabilityDelayEpochs, secondsPerSlot } = scenario
  const periods = { shardCommitteePeriodEpochs, withdrawabilityDelayEpochs, secondsPerSlot }
  const network = { genesisTimeSec, chainId, depositContractAddress, validators, ...periods }
  const genesis = createGenesis({ seed, facts: network, engine })
  const immutable = { config: genesis.config, pubkeyCache: genesis.state.epochCtx.pubkeyCache }
  const isKept = archive !== undefined && engine.checkpoint !== undefined
  const past = isKept ? new ArchivedPast(archive, immutable, checkpointSlots) : undefined
  const restart =
    past === undefined || archive === undefined ? undefined : await restoring(() => restore(archive, past))
  opening.move()
  return { engine, genesis, past, restart }
}

/** Where the archive's checkpoint was; undefined when there is none. */
function restore(archive: Archive, past: ArchivedPast): Restart | undefined {
  const checkpoint = archive.part(CHECKPOINT_PART) as ChainCheckpoint | undefined
  if (checkpoint === undefined) return undefined
  if (past.headSlot !== checkpoint.slot) throw new Error('its newest slot is not the checkpoint')
  const state = past.state(checkpoint.slot)
  return { checkpoint, state, head: past.headOf(state) }
}

/** As openLayers; an archive that is of no use is emptied, and the chain begins anew. */
export async function openLayersOrAnew(setup: EngineSetup, options: Opening): Promise<Layers> {
  try {
    return await openLayers(setup, options)
  } catch (error) {
    if (!(error instanceof ArchiveUnusable)) throw error
    options.onStartAnew(error.message)
    setup.archive?.clear()
    return openLayers(setup, options)
  }
}

interface ArchivedLayers {
  readonly archive: Archive
  readonly past: ArchivedPast
  readonly chain: Chain
  readonly engine: ExecutionEngine
  readonly checkpointSlots: number
  readonly targetSlot: () => number
}

/** The chain, with a checkpoint of both layers now and then; `restart` is the one that it went on from. */
export function archived(
  { archive, past, chain, engine, checkpointSlots, targetSlot }: ArchivedLayers,
  restart: Restart | undefined,
): SlotProducer {
  const { history } = chain
  const layers = {
    archive,
    chain,
    targetSlot,
    isCheckpoint: (slot: number) => slot % checkpointSlots === 0,
    async prepare(last: number) {
      const checkpoint = chain.checkpoint()
      const writeEngine = await engine.checkpoint?.()
      if (checkpoint === undefined || writeEngine === undefined) return undefined
      const setCheckpoint = () => archive.setPart(CHECKPOINT_PART, checkpoint)
      return [writeEngine, past.prepare(history, last + 1, checkpoint.slot), setCheckpoint]
    },
    onArchived: (slot: number) => history.leaveToPast(slot - SLOTS_IN_MEMORY),
  }
  return archiving(layers, restart?.checkpoint.slot ?? -1)
}
