import type { Protocol } from './protocol.ts'
import { jsonRpcAt, rpcProbe } from './routes.ts'

/** Identities are the first bytes of the genesis checkpoint's digest. */
export const SUI: Protocol = {
  name: 'sui',
  networks: { mainnet: { identity: '35834a8a' }, testnet: { identity: '4c78adac' } },
  services: [
    {
      name: '',
      routes: jsonRpcAt('/'),
      head: rpcProbe({ method: 'sui_getLatestCheckpointSequenceNumber' }, 'number'),
      identity: rpcProbe({ method: 'sui_getChainIdentifier' }, 'text'),
      lagMax: 360,
    },
  ],
  methods: {
    reads: [
      ...['sui_get*', 'sui_multiGet*', 'sui_tryGet*', 'sui_tryMultiGet*', 'sui_devInspectTransactionBlock'],
      ...['sui_dryRunTransactionBlock', 'sui_verifyZkLoginSignature', 'suix_get*', 'suix_query*', 'suix_resolve*'],
      // Makes transactions that their caller then signs.
      ...['suix_verifyZkLoginSignature', 'unsafe_*', 'rpc.discover'],
    ],
    broadcasts: ['sui_executeTransactionBlock'],
    makesFilter: [],
    takesFilter: [],
    refused: [],
    subscribes: {
      suix_subscribeEvent: 'suix_unsubscribeEvent',
      suix_subscribeTransaction: 'suix_unsubscribeTransaction',
    },
  },
  webSocket: { path: '/' },
}
