import { EVM_METHODS, EVM_STATES_KEPT } from './evm-methods.ts'
import type { Network, Protocol, Service } from './protocol.ts'
import { jsonRpcAt, rpcProbe } from './routes.ts'

export const EVM_ROWS = {
  ethereum: evm('ethereum', 6, {
    mainnet: { identity: '0x1' },
    goerli: { identity: '0x5', isRetired: true },
    holesky: { identity: '0x4268', isRetired: true },
    sepolia: { identity: '0xaa36a7' },
  }),
  bsc: evm('bsc', 100, { mainnet: { identity: '0x38' }, testnet: { identity: '0x61' } }),
  polygon: evm('polygon', 20, { mainnet: { identity: '0x89' }, mumbai: { identity: '0x13881', isRetired: true } }),
  etc: evm('etc', 6, { mainnet: { identity: '0x3d' } }),
  fantom: evm('fantom', 90, { mainnet: { identity: '0xfa' } }),
  arbitrum: evm('arbitrum', 40, { mainnet: { identity: '0xa4b1' } }),
  optimism: evm('optimism', 40, { mainnet: { identity: '0xa' }, goerli: { identity: '0x1a4', isRetired: true } }),
  base: evm('base', 40, { mainnet: { identity: '0x2105' } }),
  scroll: evm('scroll', 40, { mainnet: { identity: '0x82750' } }),
  blast: evm('blast', 40, { mainnet: { identity: '0x13e31' } }),
  worldchain: evmOverHttp('worldchain', 40, { mainnet: { identity: '0x1e0' } }),
}

function evm(name: string, lagMax: number, networks: Readonly<Record<string, Network>>): Protocol {
  return { ...evmOverHttp(name, lagMax, networks), webSocket: { path: '/' } }
}

function evmOverHttp(name: string, lagMax: number, networks: Readonly<Record<string, Network>>): Protocol {
  return { name, networks, services: [evmService(lagMax)], statesKept: EVM_STATES_KEPT, methods: EVM_METHODS }
}

function evmService(lagMax: number): Service {
  return {
    name: '',
    routes: jsonRpcAt('/'),
    head: rpcProbe({ method: 'eth_blockNumber' }, 'hex'),
    identity: rpcProbe({ method: 'eth_chainId' }, 'hex'),
    final: rpcProbe({ method: 'eth_getBlockByNumber', params: ['finalized', false] }, 'hex', ['number']),
    lagMax,
  }
}
