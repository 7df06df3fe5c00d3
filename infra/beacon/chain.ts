import { malformed } from '../nodes/json.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { BeaconChain } from '../ports/beacon-source.ts'
import { toHex } from './block.ts'
import { required } from './route.ts'
import { BEACON, CONFIG } from './routes.ts'

/** What a node says of its chain. Throws AppError of a node fault. */
export async function askChain(node: ChainNode): Promise<BeaconChain> {
  const [genesis, configuration] = await Promise.all([
    required(node, BEACON.getGenesis, undefined, { what: 'the genesis' }),
    required(node, CONFIG.getSpec, undefined, { what: 'its configuration' }),
  ])
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
    genesisValidatorsRoot: toHex(genesis.data.genesisValidatorsRoot),
    depositChainId: specNumber(spec, 'DEPOSIT_CHAIN_ID'),
    depositContractAddress: (spec.DEPOSIT_CONTRACT_ADDRESS ?? '').toLowerCase(),
    spec,
  }
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
