import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { epochOf, slotAt } from '../../schemas/eth/time.ts'
import { chainClocks } from '../rewards/days.ts'
import type { Projector } from './consume.ts'

/** Where a chain with a beacon chain stands. */
export interface BeaconChainHealth {
  readonly kind: 'beacon'
  /** Newest slot that the head shows. */
  readonly headSlot: number | undefined
  /** Newest epoch of which everything is in the warehouse. */
  readonly lastFinalizedEpoch: number | undefined
  readonly checks: Readonly<Record<string, boolean>>
}

/** Where a chain without a beacon chain stands. */
export interface ExecutionChainHealth {
  readonly kind: 'execution'
  readonly headBlock: number | undefined
  readonly finalizedBlock: number | undefined
  readonly checks: Readonly<Record<string, boolean>>
}

export type ChainHealth = BeaconChainHealth | ExecutionChainHealth

export interface MeasuredHealth {
  readonly chains: Readonly<Record<string, ChainHealth>>
  readonly lag: Readonly<Record<string, number>>
}

/** Blocks come every 12 s, so the head may be this old before something is wrong: about two minutes. */
const HEAD_LAG_SLOTS_MAX = 10
/** Epochs are final after two, ingested when the next checkpoint is, and processed within seconds. */
const FINALITY_LAG_EPOCHS_MAX = 5
/** The newest block of an execution chain may be this old: block times differ from chain to chain. */
const HEAD_AGE_SEC_MAX = 120

/** The chains that health is asked of. */
export interface WatchedChain {
  readonly name: string
  readonly hasBeacon: boolean
}

/** Events that each projection has not processed yet, by its group. */
export async function measureLag(
  eventLog: EventLog,
  projectors: readonly Projector[],
): Promise<Readonly<Record<string, number>>> {
  const lags = await Promise.all(projectors.map(({ topic, group }) => eventLog.lag(topic, group)))
  return Object.fromEntries(projectors.map(({ group }, i) => [group, Number(lags[i])]))
}

/** Where the projections stand, against the log and against each chain's clock. `nowSec` is Unix seconds. */
export async function measureHealth(
  ports: { readonly eventLog: EventLog; readonly warehouse: Warehouse; readonly projectors: readonly Projector[] },
  chains: readonly WatchedChain[],
  nowSec: number,
): Promise<MeasuredHealth> {
  const { eventLog, warehouse, projectors } = ports
  const lag = await measureLag(eventLog, projectors)
  const clocks = await chainClocks(warehouse)
  const beacon = await newestOfBeaconChains(warehouse)
  const execution = await newestOfExecutionChains(
    warehouse,
    chains.filter((chain) => !chain.hasBeacon),
  )
  const healthOf = ({ name, hasBeacon }: WatchedChain): ChainHealth => {
    if (!hasBeacon) return executionHealth(execution.get(name), nowSec)
    const clock = clocks.get(name)
    const { headSlot, lastFinalizedEpoch } = beacon.get(name) ?? {}
    const wallSlot = clock === undefined ? undefined : slotAt(clock, nowSec)
    return {
      kind: 'beacon',
      headSlot,
      lastFinalizedEpoch,
      checks: {
        has_data: lastFinalizedEpoch !== undefined,
        follows_head: wallSlot !== undefined && headSlot !== undefined && wallSlot - headSlot <= HEAD_LAG_SLOTS_MAX,
        follows_finality:
          clock !== undefined &&
          wallSlot !== undefined &&
          lastFinalizedEpoch !== undefined &&
          epochOf(clock, wallSlot) - lastFinalizedEpoch <= FINALITY_LAG_EPOCHS_MAX,
      },
    }
  }
  return {
    chains: Object.fromEntries(chains.map((chain) => [chain.name, healthOf(chain)])),
    lag,
  }
}

interface BeaconNewest {
  readonly headSlot: number | undefined
  readonly lastFinalizedEpoch: number | undefined
}

async function newestOfBeaconChains(warehouse: Warehouse): Promise<ReadonlyMap<string, BeaconNewest>> {
  const epochs = await warehouse.query<{ chain: string; newest: number }>(
    'SELECT chain, max(epoch) AS newest FROM epochs GROUP BY chain',
  )
  const heads = await warehouse.query<{ chain: string; newest: string }>(
    'SELECT chain, max(slot) AS newest FROM beacon_blocks GROUP BY chain',
  )
  const epochOfChain = new Map(epochs.map(({ chain, newest }) => [chain, newest]))
  const headOfChain = new Map(heads.map(({ chain, newest }) => [chain, Number(newest)]))
  return new Map(
    [...new Set([...epochOfChain.keys(), ...headOfChain.keys()])].map((chain) => [
      chain,
      { headSlot: headOfChain.get(chain), lastFinalizedEpoch: epochOfChain.get(chain) },
    ]),
  )
}

interface ExecutionNewest {
  readonly headBlock: number
  readonly headTimeSec: number
  readonly finalizedBlock: number | undefined
}

async function newestOfExecutionChains(
  warehouse: Warehouse,
  chains: readonly WatchedChain[],
): Promise<ReadonlyMap<string, ExecutionNewest>> {
  if (chains.length === 0) return new Map()
  const names = chains.map(({ name }) => name)
  const heads = await warehouse.query<{ chain: string; newest: string; time_sec: number }>(
    `SELECT chain, max(block_number) AS newest, toUnixTimestamp(max(time)) AS time_sec FROM execution_blocks
     WHERE chain IN {names:Array(String)} GROUP BY chain`,
    { names },
  )
  const finalized = await warehouse.query<{ chain: string; block_number: string }>(
    'SELECT chain, block_number FROM execution_finality FINAL WHERE chain IN {names:Array(String)}',
    { names },
  )
  const finalOf = new Map(finalized.map((row) => [row.chain, Number(row.block_number)]))
  return new Map(
    heads.map((row) => [
      row.chain,
      { headBlock: Number(row.newest), headTimeSec: row.time_sec, finalizedBlock: finalOf.get(row.chain) },
    ]),
  )
}

function executionHealth(newest: ExecutionNewest | undefined, nowSec: number): ExecutionChainHealth {
  return {
    kind: 'execution',
    headBlock: newest?.headBlock,
    finalizedBlock: newest?.finalizedBlock,
    checks: {
      has_data: newest !== undefined,
      follows_head: newest !== undefined && nowSec - newest.headTimeSec <= HEAD_AGE_SEC_MAX,
      follows_finality: newest?.finalizedBlock !== undefined,
    },
  }
}
