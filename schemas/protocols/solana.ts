import type { Protocol } from './protocol.ts'
import { jsonRpcAt, restReads, rpcProbe } from './routes.ts'

/** Each kind has its pair: `slotSubscribe`, `slotUnsubscribe`. */
const SUBSCRIPTIONS = ['account', 'block', 'logs', 'program', 'root', 'signature', 'slot', 'slotsUpdates', 'vote']

export const SOLANA: Protocol = {
  name: 'solana',
  hasOwnHost: true,
  networks: { mainnet: { identity: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d' } },
  services: [
    {
      name: '',
      routes: [...jsonRpcAt('/'), ...restReads(['GET'], ['/health'])],
      head: rpcProbe({ method: 'getSlot' }, 'number'),
      identity: rpcProbe({ method: 'getGenesisHash' }, 'text'),
      lagMax: 100,
    },
  ],
  methods: {
    reads: ['get*', 'isBlockhashValid', 'minimumLedgerSlot', 'simulateTransaction'],
    // `sendTransaction` goes to one node, which itself repeats it until the block hash that it names is too old.
    broadcasts: [],
    makesFilter: [],
    takesFilter: [],
    refused: [],
    subscribes: Object.fromEntries(SUBSCRIPTIONS.map((kind) => [`${kind}Subscribe`, `${kind}Unsubscribe`])),
    // Tells once, and is over.
    ownSubscriptions: ['signatureSubscribe'],
  },
  webSocket: { path: '/' },
}
