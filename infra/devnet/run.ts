import { type Devnet, type DevnetOptions, openDevnet } from './open.ts'

export interface DevnetReady {
  readonly beaconUrl: string
  readonly executionUrl: string
  /** JSON-RPC of the second chain, when there is one. */
  readonly secondExecutionUrl?: string | undefined
  /** Where documents of tokens are, when they are served. */
  readonly metadataUrl?: string | undefined
  /** The Keymanager API of its validator client. */
  readonly keymanagerUrl?: string | undefined
  readonly genesisTimeSec: number
  readonly seed: string
}

export interface RunOptions extends Omit<DevnetOptions, 'signal' | 'clock'> {
  /** All servers listen; history may still be in production. */
  readonly onReady?: (ready: DevnetReady) => void
  /** Serves what else is asked of it, while it runs. */
  readonly serve?: (devnet: Devnet) => Promise<AsyncDisposable>
}

/** Runs a devnet that follows the clock; resolves when the signal aborts and everything is closed, rejects when it fails. */
export async function runDevnet(options: RunOptions, signal: AbortSignal): Promise<void> {
  await using devnet = await openDevnet({ ...options, clock: 'follow', signal })
  await using _served = await options.serve?.(devnet)
  const { beaconUrl, executionUrl, secondUrl: secondExecutionUrl, metadataUrl, seed } = devnet
  const { genesisTimeSec } = devnet.clock
  const keymanagerUrl = devnet.validatorClient?.url
  options.onReady?.({ beaconUrl, executionUrl, secondExecutionUrl, metadataUrl, keymanagerUrl, seed, genesisTimeSec })
  await devnet.finished
}
