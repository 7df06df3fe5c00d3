import { EVM_METHODS, EVM_STATES_KEPT } from './evm-methods.ts'
import type { Methods, Protocol } from './protocol.ts'
import { jsonRpcAt, restReads, rpcProbe } from './routes.ts'

const C_CHAIN = '/ext/bc/C/rpc'

/** Of the chains C (contracts), P (validators) and X (assets), which are told apart by path. */
const METHODS: Methods = {
  ...EVM_METHODS,
  reads: [
    ...EVM_METHODS.reads,
    ...['platform.get*', 'platform.sampleValidators', 'platform.validatedBy', 'platform.validates', 'avm.get*'],
    ...['avax.get*', 'info.*', 'health.*', 'eth_suggestPriceOptions'],
    ...['eth_getActiveRulesAt', 'eth_getChainConfig'],
  ],
  refused: [
    ...EVM_METHODS.refused,
    ...['admin.*', 'keystore.*', 'auth.*', 'ipcs.*', 'avax.import*', 'avax.export*', 'avm.import*', 'avm.export*'],
    ...['avm.send*', 'avm.create*', 'avm.mint*', 'avm.burn*', 'avm.list*', 'platform.import*', 'platform.export*'],
    ...['platform.add*', 'platform.create*'],
  ],
}

/** The head and the identity are the contract chain's. */
export const AVAX: Protocol = {
  name: 'avax',
  networks: { mainnet: { identity: '0xa86a' } },
  services: [
    {
      name: '',
      routes: [
        ...jsonRpcAt(C_CHAIN, '/ext/bc/C/avax', '/ext/bc/P', '/ext/bc/X', '/ext/info'),
        ...restReads(['GET'], ['/ext/health', '/ext/health/liveness', '/ext/health/readiness']),
      ],
      head: rpcProbe({ method: 'eth_blockNumber', path: C_CHAIN }, 'hex'),
      identity: rpcProbe({ method: 'eth_chainId', path: C_CHAIN }, 'hex'),
      lagMax: 45,
    },
  ],
  statesKept: EVM_STATES_KEPT,
  methods: METHODS,
  webSocket: { path: '/ext/bc/C/ws' },
}
