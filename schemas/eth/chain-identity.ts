import type { ChainClock } from './time.ts'

/** What tells a beacon chain from every other. Of what a cursor of an earlier release did not name, nothing is known. */
interface BeaconIdentity {
  readonly genesisValidatorsRoot: string
  readonly genesis?: {
    /** Unix seconds. */
    readonly timeSec: number
    readonly secondsPerEpoch: number
    readonly forks: readonly ScheduledFork[]
    /** Root of the block of slot 0, where the node has it. */
    readonly blockRoot: string | undefined
  }
}

export interface ScheduledFork {
  /** Four bytes, hex. */
  readonly version: string
  readonly epoch: number
}

/** A chain without a beacon chain. */
interface ExecutionIdentity {
  readonly chainId: number
  /** Hash of block 0, where the node still has it. */
  readonly genesisHash: string | undefined
}

const BEACON = /^(0x[0-9a-f]{64})(?::(\d+)\+(\d+):((?:0x[0-9a-f]{8}@\d+,?)*):(0x[0-9a-f]{64})?)?$/
const EXECUTION = /^eip155:(\d+)(?::(0x[0-9a-f]{64}))?$/

/** What the cursors of a chain carry, of what its node says. */
export function formatBeaconIdentity(chain: {
  readonly clock: ChainClock
  readonly genesisValidatorsRoot: string
  readonly genesisBlockRoot: string | undefined
  readonly forks: readonly ScheduledFork[]
}): string {
  const { clock, genesisValidatorsRoot, genesisBlockRoot: blockRoot, forks } = chain
  const { genesisTimeSec: timeSec, secondsPerSlot, slotsPerEpoch } = clock
  return formatBeacon({
    genesisValidatorsRoot,
    genesis: { timeSec, secondsPerEpoch: secondsPerSlot * slotsPerEpoch, forks, blockRoot },
  })
}

function formatBeacon({ genesisValidatorsRoot, genesis }: BeaconIdentity): string {
  if (genesis === undefined) return genesisValidatorsRoot
  const { timeSec, secondsPerEpoch, forks, blockRoot = '' } = genesis
  const schedule = forks.map(({ version, epoch }) => `${version}@${epoch}`).join(',')
  return `${genesisValidatorsRoot}:${timeSec}+${secondsPerEpoch}:${schedule}:${blockRoot}`
}

export function formatExecutionIdentity({ chainId, genesisHash }: ExecutionIdentity): string {
  return genesisHash === undefined ? `eip155:${chainId}` : `eip155:${chainId}:${genesisHash}`
}

function parseBeacon(text: string): BeaconIdentity | undefined {
  const [, genesisValidatorsRoot, timeSec, secondsPerEpoch, schedule = '', blockRoot] = BEACON.exec(text) ?? []
  if (genesisValidatorsRoot === undefined) return undefined
  if (timeSec === undefined) return { genesisValidatorsRoot }
  const forks = schedule
    .split(',')
    .filter((fork) => fork !== '')
    .map((fork) => {
      const [version = '', epoch] = fork.split('@')
      return { version, epoch: Number(epoch) }
    })
  const genesis = { timeSec: Number(timeSec), secondsPerEpoch: Number(secondsPerEpoch), forks, blockRoot }
  return { genesisValidatorsRoot, genesis }
}

/** In what two chains differ: the first thing, with what each says of it. */
interface IdentityDifference {
  readonly what: string
  readonly first: string
  readonly second: string
}

/**
 * In what two identities contradict each other; undefined where nothing that both name does. Forks are compared up to a time,
 * Unix seconds: what lies in the future is planned, and plans change.
 */
export function differenceOf(first: string, second: string, untilSec: number): IdentityDifference | undefined {
  const [a, b] = [parseBeacon(first), parseBeacon(second)]
  const pairs = a !== undefined && b !== undefined ? beaconFacts(a, b, untilSec) : otherFacts(first, second)
  const found = pairs.find(([, one, other]) => one !== undefined && other !== undefined && one !== other)
  return found && { what: found[0], first: String(found[1]), second: String(found[2]) }
}

type Fact = readonly [what: string, first: string | number | undefined, second: string | number | undefined]

function beaconFacts(a: BeaconIdentity, b: BeaconIdentity, untilSec: number): readonly Fact[] {
  return [
    ['genesis validators root', a.genesisValidatorsRoot, b.genesisValidatorsRoot],
    ['genesis time', a.genesis?.timeSec, b.genesis?.timeSec],
    ['epoch in seconds', a.genesis?.secondsPerEpoch, b.genesis?.secondsPerEpoch],
    ...forkFacts(a, b, untilSec),
    ['genesis block', a.genesis?.blockRoot, b.genesis?.blockRoot],
  ]
}

/** Epochs of the forks that both name: a node may name fewer than another, and plans for the future differ. */
function forkFacts({ genesis: a }: BeaconIdentity, { genesis: b }: BeaconIdentity, untilSec: number): readonly Fact[] {
  if (a === undefined || b === undefined) return []
  const until = Math.max(0, Math.floor((untilSec - a.timeSec) / a.secondsPerEpoch))
  const epochs = new Map(b.forks.map(({ version, epoch }) => [version, epoch]))
  return a.forks
    .filter(({ version, epoch }) => Math.min(epoch, epochs.get(version) ?? Number.POSITIVE_INFINITY) <= until)
    .map(({ version, epoch }) => [`epoch of the fork ${version}`, epoch, epochs.get(version)])
}

function otherFacts(first: string, second: string): readonly Fact[] {
  const [a, b] = [EXECUTION.exec(first), EXECUTION.exec(second)]
  if (a === null || b === null) return [['chain', first, second]]
  // A hash of block 0 that one of the two lacks cannot contradict the other's: the chain ids decide then.
  return [
    ['chain id', a[1], b[1]],
    ['genesis block', a[2], b[2]],
  ]
}

/** The identity with the genesis block that another one of the same chain names, where it does not name it itself. */
export function withGenesisBlock(identity: string, other: string): string {
  const [own, named] = [parseBeacon(identity), parseBeacon(other)]
  if (own?.genesis === undefined || own.genesis.blockRoot !== undefined) return identity
  const blockRoot = named?.genesis?.blockRoot
  return blockRoot === undefined ? identity : formatBeacon({ ...own, genesis: { ...own.genesis, blockRoot } })
}
