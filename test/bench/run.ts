import { prepareRuntime } from '../../infra/runtime.ts'
import { benchAdvance } from './advance.ts'
import { benchApi } from './api.ts'
import { benchBlocks } from './blocks.ts'
import { benchCreate } from './create.ts'
import { benchDevnet } from './devnet.ts'
import { benchGatewayCalls } from './gateway.ts'
import { benchGatewayBeside } from './gateway-beside.ts'
import { benchGatewaySockets } from './gateway-sockets.ts'
import { benchGatewaySteady } from './gateway-steady.ts'
import { benchIngest } from './ingest.ts'
import { benchNft } from './nft.ts'
import { benchNftHead } from './nft-head.ts'
import { benchNftSearch } from './nft-search.ts'
import { Report } from './report.ts'
import { benchRewards } from './rewards.ts'
import { benchScale } from './scale.ts'
import { benchStart } from './start.ts'
import { measureMachine } from './yardstick.ts'

/** `npm run bench <name>`: measures on this machine, prints each figure beside its limit, exits with 1 beyond one. */
const BENCHES: Readonly<Record<string, () => Promise<boolean>>> = {
  advance: benchAdvance,
  api: benchApi,
  blocks: benchBlocks,
  create: benchCreate,
  devnet: benchDevnet,
  gateway: benchGateway,
  'gateway-calls': benchGatewayCalls,
  'gateway-beside': benchGatewayBeside,
  'gateway-sockets': benchGatewaySockets,
  'gateway-steady': benchGatewaySteady,
  ingest: benchIngest,
  nft: benchNft,
  'nft-head': benchNftHead,
  'nft-search': benchNftSearch,
  rewards: benchRewards,
  scale: benchScale,
  start: benchStart,
}

/** All that there is to say of the gateway, one after the other: a quarter of an hour. */
async function benchGateway(): Promise<boolean> {
  let within = true
  for (const part of [benchGatewayCalls, benchGatewaySockets, benchGatewayBeside, benchGatewaySteady])
    within = (await part()) && within
  return within
}

// As the program does: with fewer, statements of the engine would wait for each other.
prepareRuntime()
const name = process.argv[2] ?? ''
const bench = BENCHES[name]
if (bench === undefined) {
  process.stderr.write(`usage: npm run bench <name>; name is one of: ${Object.keys(BENCHES).join(', ')}\n`)
  process.exitCode = 2
} else {
  measureMachine(new Report())
  process.exitCode = (await bench()) ? 0 : 1
}
