import { openBeaconSource } from '../infra/beacon/source.ts'
import type { ChainConfig, Config } from '../infra/config/types.ts'
import type { DevnetUrls } from '../infra/devnet/child.ts'
import { openThreadedExecutionSource } from '../infra/execution/threaded-source.ts'
import type { BeaconSource } from '../infra/ports/beacon-source.ts'
import type { ExecutionSource } from '../infra/ports/execution-source.ts'
import type { Log } from '../infra/ports/log.ts'
import type { NodeStatus } from '../infra/ports/node-status.ts'
import type { RelayClaims } from '../infra/ports/relay-claims.ts'
import { openRelays } from '../infra/relays/relays.ts'
import { AppError } from '../schemas/errors.ts'

/** The nodes of one chain. Nothing is asked until somebody asks: nodes may be away. */
export interface ChainNodes extends AsyncDisposable {
  /** Absent on chains without a beacon chain. */
  readonly beacon: BeaconSource | undefined
  readonly execution: ExecutionSource
  readonly relays: RelayClaims
  status(): readonly NodeStatus[]
}

export interface NodesOfProcess {
  readonly devnet: DevnetUrls | undefined
  readonly log: Log
  /** For whoever reads states at the head: where they are kept until they are final. */
  readonly statesFolder?: string
}

/**
 * Opens the nodes of a chain; the signal closes them, which ends the questions that are being asked: a node may take minutes to
 * answer, and who wants to stop should not wait for it. Throws AppError `config` for an address that is none.
 */
export async function openChainNodes(
  chain: ChainConfig,
  { devnet, log, statesFolder }: NodesOfProcess,
  signal: AbortSignal,
): Promise<ChainNodes> {
  await using opening = new AsyncDisposableStack()
  const { beaconUrls, executionUrls } = urlsOf(chain, devnet)
  // A beacon chain's blocks commit to execution blocks of the specification; a layer may have formats of its own.
  const binding = beaconUrls === undefined ? 'layer' : 'ethereum'
  const execution = opening.use(
    await openThreadedExecutionSource({ urls: executionUrls, log, binding, ...chain.blocks }),
  )
  const relays = opening.use(openRelays({ urls: chain.relayUrls ?? [], log }))
  const beacon =
    beaconUrls === undefined
      ? undefined
      : opening.use(
          await openBeaconSource({ urls: beaconUrls, log, statesFolder, rewardsBy: chain.rewardsBy ?? 'states' }),
        )
  const open = opening.move()
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    closed ??= open.disposeAsync()
    return closed
  }
  const onAbort = (): void => void close().catch(() => undefined) // whoever disposes of the nodes hears of it
  signal.addEventListener('abort', onAbort, { once: true })
  open.defer(() => signal.removeEventListener('abort', onAbort))
  if (signal.aborted) onAbort()
  return {
    beacon,
    execution,
    relays,
    status: () => [...(beacon?.status() ?? []), ...execution.status()],
    [Symbol.asyncDispose]: close,
  }
}

export interface ChainUrls {
  readonly beaconUrls: readonly string[] | undefined
  readonly executionUrls: readonly string[]
}

/** Addresses of a chain's nodes. Throws AppError `usage` for a layer of a devnet that does not run. */
export function urlsOf({ source, names }: ChainConfig, devnet: DevnetUrls | undefined): ChainUrls {
  switch (source.kind) {
    case 'beacon':
      return source
    case 'execution':
      return { beaconUrls: undefined, executionUrls: source.executionUrls }
    case 'devnet': {
      if (devnet === undefined)
        throw new AppError('usage', `The devnet, which ${names.name} is a chain of, does not run.`)
      if (source.layer === 'ethereum') {
        return { beaconUrls: [devnet.beaconUrl], executionUrls: [devnet.executionUrl] }
      }
      if (devnet.secondExecutionUrl === undefined) throw new AppError('usage', 'The devnet has no second chain.')
      return { beaconUrls: undefined, executionUrls: [devnet.secondExecutionUrl] }
    }
  }
}

/** Where a devnet that somebody else runs listens. */
export function devnetUrls({ devnet }: Config): DevnetUrls | undefined {
  if (devnet === undefined) return undefined
  const urlOf = (port: number): string => `http://127.0.0.1:${port}`
  return {
    beaconUrl: urlOf(devnet.beaconPort),
    executionUrl: urlOf(devnet.executionPort),
    secondExecutionUrl: devnet.secondPort === undefined ? undefined : urlOf(devnet.secondPort),
  }
}
