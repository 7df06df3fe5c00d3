import type { Protocol } from './protocol.ts'
import { jsonRpcAt, rpcProbe } from './routes.ts'

/** Versions of the API that nodes have beside the one at their root, each by two paths. */
const VERSIONS = ['v0_6', 'v0_7', 'v0_8', 'v0_9', 'v0_10']

export const STARKNET: Protocol = {
  name: 'starknet',
  // `SN_MAIN`.
  networks: { mainnet: { identity: '0x534e5f4d41494e' } },
  services: [
    {
      name: '',
      routes: jsonRpcAt('/', ...VERSIONS.flatMap((version) => [`/${version}`, `/rpc/${version}`])),
      head: rpcProbe({ method: 'starknet_blockNumber' }, 'number'),
      identity: rpcProbe({ method: 'starknet_chainId' }, 'hex'),
      lagMax: 5,
    },
  ],
  methods: {
    reads: [
      ...['starknet_get*', 'starknet_call', 'starknet_chainId', 'starknet_syncing', 'starknet_specVersion'],
      ...['starknet_blockNumber', 'starknet_blockHashAndNumber', 'starknet_estimateFee'],
      ...['starknet_estimateMessageFee', 'starknet_pendingTransactions', 'starknet_simulateTransactions'],
      ...['starknet_trace*', 'juno_version', 'pathfinder_get*', 'pathfinder_version'],
    ],
    // `starknet_add…Transaction` goes to one node: all others refuse it as a duplicate.
    broadcasts: [],
    makesFilter: [],
    takesFilter: [],
    refused: [],
    subscribes: {},
  },
}
