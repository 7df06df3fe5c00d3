import type { Methods, Network, Protocol } from './protocol.ts'
import { jsonRpcAt, rpcProbe } from './routes.ts'

const METHODS: Methods = {
  reads: [
    ...['account_nextIndex', 'author_pendingExtrinsics', 'babe_epochAuthorship', 'beefy_getFinalizedHead'],
    ...['chain_get*', 'chainSpec_v1_*', 'childstate_*', 'grandpa_proveFinality', 'grandpa_roundState', 'mmr_*'],
    ...['payment_queryFeeDetails', 'payment_queryInfo', 'rpc_methods', 'stakingRewards_inflationInfo'],
    ...['state_call', 'state_callAt', 'state_get*', 'state_queryStorage', 'state_queryStorageAt', 'state_traceBlock'],
    ...['state_trieMigrationStatus', 'system_accountNextIndex', 'system_chain', 'system_chainType', 'system_dryRun'],
    ...['system_dryRunAt', 'system_health', 'system_name', 'system_nodeRoles', 'system_peers', 'system_properties'],
    ...['system_syncState', 'system_version', 'system_localPeerId', 'archive_v1_*', 'archive_unstable_*'],
  ],
  broadcasts: ['author_submitExtrinsic'],
  makesFilter: [],
  takesFilter: [],
  refused: [
    ...['author_insertKey', 'author_rotateKeys', 'author_rotateKeysWithOwner', 'author_hasKey'],
    ...['author_hasSessionKeys', 'author_removeExtrinsic', 'offchain_*', 'dev_*', 'sudo_*'],
    ...['system_addReservedPeer', 'system_removeReservedPeer', 'system_reservedPeers', 'system_addLogFilter'],
    ...['system_resetLogFilter', 'system_localListenAddresses', 'system_unstable_networkState'],
  ],
  subscribes: {
    subscribe_newHead: 'unsubscribe_newHead',
    chain_subscribeNewHead: 'chain_unsubscribeNewHead',
    chain_subscribeNewHeads: 'chain_unsubscribeNewHeads',
    chain_subscribeAllHeads: 'chain_unsubscribeAllHeads',
    chain_subscribeFinalizedHeads: 'chain_unsubscribeFinalizedHeads',
    chain_subscribeFinalisedHeads: 'chain_unsubscribeFinalisedHeads',
    chain_subscribeRuntimeVersion: 'chain_unsubscribeRuntimeVersion',
    state_subscribeRuntimeVersion: 'state_unsubscribeRuntimeVersion',
    state_subscribeStorage: 'state_unsubscribeStorage',
    author_submitAndWatchExtrinsic: 'author_unwatchExtrinsic',
    grandpa_subscribeJustifications: 'grandpa_unsubscribeJustifications',
  },
  ownSubscriptions: ['state_subscribeStorage', 'author_submitAndWatchExtrinsic'],
  latestFirst: [
    ...['subscribe_newHead', 'chain_subscribeNewHead', 'chain_subscribeNewHeads', 'chain_subscribeAllHeads'],
    ...['chain_subscribeFinalizedHeads', 'chain_subscribeFinalisedHeads', 'chain_subscribeRuntimeVersion'],
    'state_subscribeRuntimeVersion',
  ],
}

export const SUBSTRATE_ROWS = {
  polkadot: substrate('polkadot', {
    mainnet: { identity: '0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3' },
    westend: { identity: '0xe143f23803ac50e8f6f8e62695d1ce9e4e1d68aa36c1cd2cfd15340213f3423e' },
  }),
  kusama: substrate('kusama', {
    mainnet: { identity: '0xb0a8d493285c2df73290dfb7e61f870f17b41801197a149ca93654499ea3dafe' },
  }),
}

/** Identities are hashes of genesis blocks. */
function substrate(name: string, networks: Readonly<Record<string, Network>>): Protocol {
  return {
    name,
    networks,
    services: [
      {
        name: '',
        routes: jsonRpcAt('/'),
        head: rpcProbe({ method: 'chain_getHeader' }, 'hex', ['number']),
        identity: rpcProbe({ method: 'chain_getBlockHash', params: [0] }, 'text'),
        lagMax: 10,
      },
    ],
    methods: METHODS,
    webSocket: { path: '/' },
  }
}
