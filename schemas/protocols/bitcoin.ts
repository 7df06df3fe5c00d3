import { BITCOIN_METHODS } from './bitcoin-methods.ts'
import type { Network, Protocol } from './protocol.ts'
import { jsonRpcAt, rpcProbe } from './routes.ts'

/** Of a family whose networks all call themselves `main` or `test`, the hash of a block tells them apart. */
const BITCOIN_GENESIS = '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f'

/** The first block that is its own of a chain that began as another: its height, and its hash. */
interface FirstOwnBlock {
  readonly height: number
  readonly hash: string
}

// Both have Bitcoin's genesis block.
const BCH: FirstOwnBlock = {
  height: 478_559,
  hash: '000000000000000000651ef99cb9fcbe0dadde1d424bd9f15ff20136191a5eec',
}
const BSV: FirstOwnBlock = {
  height: 556_767,
  hash: '000000000000000001d956714215d96ffc00e0afda4cd0a96c96f8d802b1662b',
}

export const BITCOIN_ROWS = {
  bitcoin: bitcoinType('bitcoin', {
    mainnet: { identity: BITCOIN_GENESIS },
    testnet: { identity: '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943' },
    testnet4: { identity: '00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043' },
    signet: { identity: '00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6' },
  }),
  litecoin: bitcoinType('litecoin', {
    mainnet: { identity: '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2' },
    testnet: { identity: '4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0' },
  }),
  bch: bitcoinType('bch', { mainnet: { identity: BCH.hash } }, BCH.height),
  bsv: bitcoinType('bsv', { mainnet: { identity: BSV.hash } }, BSV.height),
  // Its ledger lies in Bitcoin's blocks.
  omni: bitcoinType('omni', { mainnet: { identity: BITCOIN_GENESIS } }),
  dogecoin: {
    ...bitcoinType('dogecoin', {
      mainnet: { identity: '1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691' },
    }),
    webSocket: { path: '/', isBridged: true },
  },
  dash: bitcoinType('dash', {
    mainnet: { identity: '00000ffd590b1485b3caadc19b22e6379c733355108f107a430458cdf3407ab6' },
  }),
  zcash: bitcoinType('zcash', {
    mainnet: { identity: '00040fe8ec8471911baa1db1266ea15dd06b4a8a5c453883c000b031973dce08' },
  }),
  qtum: bitcoinType('qtum', {
    mainnet: { identity: '000075aef83cf2853580f8ae8ce6f8c3096cfa21d98334d6e3f95e5582ed986c' },
  }),
} satisfies Readonly<Record<string, Protocol>>

/** Identities are hashes of the block of this height. */
function bitcoinType(name: string, networks: Readonly<Record<string, Network>>, height = 0): Protocol {
  return {
    name,
    networks,
    services: [
      {
        name: '',
        routes: jsonRpcAt('/'),
        head: rpcProbe({ method: 'getblockcount' }, 'number'),
        identity: rpcProbe({ method: 'getblockhash', params: [height] }, 'text'),
        lagMax: 3,
      },
    ],
    methods: BITCOIN_METHODS,
  }
}
