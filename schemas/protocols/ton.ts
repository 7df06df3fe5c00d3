import type { Methods, Protocol } from './protocol.ts'
import { jsonRpcAt, restProbe, restReads, restWrites } from './routes.ts'

// The operations of specification 4.5, one by one: what is not here is not served.

/** GET /api/v2/… */
const V2_READS = [
  ...['getAddressInformation', 'getExtendedAddressInformation', 'getWalletInformation', 'getTransactions'],
  ...['getAddressBalance', 'getAddressState', 'packAddress', 'unpackAddress', 'getMasterchainInfo'],
  ...['getMasterchainBlockSignatures', 'getShardBlockProof', 'getConsensusBlock', 'lookupBlock', 'shards'],
  ...['getBlockTransactions', 'getBlockHeader', 'getConfigParam', 'getTokenData', 'tryLocateTx'],
  ...['tryLocateResultTx', 'tryLocateSourceTx', 'detectAddress'],
]

/** POST /api/v2/…, besides `jsonRPC`, by which all of them can be called, and nothing else. */
const V2_SENDS = ['sendBoc', 'sendBocReturnHash', 'sendQuery']
const V2_COMPUTES = ['estimateFee', 'runGetMethod']

/** GET /api/v3/… */
const V3_READS = [
  ...['masterchainInfo', 'blocks', 'masterchainBlockShardState', 'addressBook', 'masterchainBlockShards'],
  ...['transactions', 'transactionsByMasterchainBlock', 'transactionsByMessage', 'adjacentTransactions', 'messages'],
  ...['nft/collections', 'nft/items', 'nft/transfers', 'jetton/masters', 'jetton/wallets', 'jetton/transfers'],
  ...['jetton/burns', 'account', 'wallet'],
]

/** POST /api/v3/… */
const V3_SENDS = ['message']
const V3_COMPUTES = ['runGetMethod', 'estimateFee']

const v2 = (names: readonly string[]) => names.map((name) => `/api/v2/${name}`)
const v3 = (names: readonly string[]) => names.map((name) => `/api/v3/${name}`)

/** Of `POST /api/v2/jsonRPC`. Nodes that have a message already may refuse it, so messages are sent once. */
const METHODS: Methods = {
  reads: [...V2_READS, ...V2_COMPUTES],
  broadcasts: [],
  makesFilter: [],
  takesFilter: [],
  refused: [],
  others: V2_SENDS,
  subscribes: {},
}

/** The two services do not fail together, and have pasts of different lengths: each has its own upstreams. */
export const TON: Protocol = {
  name: 'ton',
  networks: {
    // The root hash of the zerostate; the network's number in its blocks.
    mainnet: { identity: { v2: 'F6OpKZKqvqeFp6CQmFomXNMfMj2EnaUSOXN+Mh+wVWk=', v3: '-239' } },
  },
  services: [
    {
      name: 'v2',
      routes: [
        ...restReads(['GET'], v2(V2_READS)),
        ...restReads(['POST'], v2(V2_COMPUTES)),
        ...restWrites(v2(V2_SENDS)),
        ...jsonRpcAt('/api/v2/jsonRPC'),
      ],
      head: restProbe('/api/v2/getMasterchainInfo', 'number', ['result', 'last', 'seqno']),
      identity: restProbe('/api/v2/getMasterchainInfo', 'text', ['result', 'init', 'root_hash']),
      lagMax: 30,
    },
    {
      name: 'v3',
      routes: [
        ...restReads(['GET'], v3(V3_READS)),
        ...restReads(['POST'], v3(V3_COMPUTES)),
        ...restWrites(v3(V3_SENDS)),
      ],
      head: restProbe('/api/v3/masterchainInfo', 'number', ['last', 'seqno']),
      identity: restProbe('/api/v3/masterchainInfo', 'number', ['last', 'global_id']),
      lagMax: 30,
    },
  ],
  methods: METHODS,
}
