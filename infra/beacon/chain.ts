import { AppError } from '../../schemas/errors.ts'
import type { ScheduledFork } from '../../schemas/eth/chain-identity.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { malformed } from '../nodes/json.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { BeaconChain } from '../ports/beacon-source.ts'
import { askRoute, missing } from './route.ts'
import { BEACON, CONFIG } from './routes.ts'

const NO_BEACON_NODE = 'has no configuration to tell, as every beacon node has: another server seems to be there'

/** What a node says of its chain. Throws AppError of a node fault. */
export async function askChain(node: ChainNode): Promise<BeaconChain> {
  const [genesis, configuration, genesisBlockRoot] = await Promise.all([
    askRoute(node, BEACON.getGenesis, undefined, { what: 'the genesis' }),
    askRoute(node, CONFIG.getSpec, undefined, { what: 'its configuration' }),
    askGenesisBlockRoot(node),
  ])
  if (configuration === undefined) throw node.fault('node_malformed', NO_BEACON_NODE)
  // Before its genesis a chain has none.
  if (genesis === undefined) return missing(node, 'the genesis')
  const values: Readonly<Record<string, unknown>> = configuration.data
  const spec = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  const secondsPerSlot = spec.SECONDS_PER_SLOT ?? String(specNumber(spec, 'SLOT_DURATION_MS') / 1000)
  return {
    clock: {
      genesisTimeSec: genesis.data.genesisTime,
      secondsPerSlot: parseNumber('SECONDS_PER_SLOT', secondsPerSlot),
      slotsPerEpoch: specNumber(spec, 'SLOTS_PER_EPOCH'),
    },
    genesisValidatorsRoot: hexOf(genesis.data.genesisValidatorsRoot),
    genesisBlockRoot,
    forks: [{ version: hexOf(genesis.data.genesisForkVersion), epoch: 0 }, ...scheduledForks(spec)],
    depositChainId: specNumber(spec, 'DEPOSIT_CHAIN_ID'),
    depositContractAddress: (spec.DEPOSIT_CONTRACT_ADDRESS ?? '').toLowerCase(),
    spec,
  }
}

/** Nodes that began with a later state may not have the genesis block; some refuse the question then. */
async function askGenesisBlockRoot(node: ChainNode): Promise<string | undefined> {
  try {
    const answer = await askRoute(node, BEACON.getBlockRoot, { blockId: 'genesis' }, { what: 'the genesis block' })
    return answer === undefined ? undefined : hexOf(answer.data.root)
  } catch (error) {
    if (error instanceof AppError && error.code === 'node_refused') return undefined
    throw error
  }
}

/**
 * The chain with the schedule that a node tells later. Forks that it does not name stay as they were planned: of several nodes one may be of an
 * earlier release.
 */
export function scheduledAgain(known: BeaconChain, told: BeaconChain): BeaconChain {
  const planned = Object.entries(told.spec).filter(([name]) => /_FORK_(EPOCH|VERSION)$/.test(name))
  const spec = { ...known.spec, ...Object.fromEntries(planned) }
  return { ...known, spec, forks: [...known.forks.slice(0, 1), ...scheduledForks(spec)] }
}

/** A fork that is not planned has the epoch 2^64 - 1. */
function scheduledForks(spec: Readonly<Record<string, string>>): readonly ScheduledFork[] {
  const forks = Object.entries(spec).flatMap(([name, value]) => {
    const version = /_FORK_EPOCH$/.test(name) ? spec[name.replace(/_EPOCH$/, '_VERSION')] : undefined
    const epoch = Number(value)
    return version === undefined || !Number.isSafeInteger(epoch) ? [] : [{ version: version.toLowerCase(), epoch }]
  })
  return forks.sort((a, b) => a.epoch - b.epoch || (a.version < b.version ? -1 : 1))
}

/** A number of the configuration; throws AppError `node_malformed`. */
export function specNumber(spec: Readonly<Record<string, string>>, name: string): number {
  return parseNumber(name, spec[name] ?? '')
}

function parseNumber(name: string, text: string): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
  throw malformed(`the config/spec answer has no number ${name}`)
}
