import { expect, test } from 'vitest'
import { devnetUrls } from '../../commands/chain-nodes.ts'
import { configuredNetworks, devnetUpstreams, gatewayConfigOf } from '../../commands/gateway-config.ts'
import { readConfig } from '../../infra/config/config.ts'
import type { Environment } from '../../infra/config/environment.ts'
import { gatewayName } from '../../infra/config/gateway.ts'
import type { Config, GatewayNetworkConfig } from '../../infra/config/types.ts'
import { createGenesis } from '../../infra/devnet/consensus/genesis.ts'
import { GENESIS_VALIDATORS, GENESIS_VALIDATORS_ROOT } from '../../infra/devnet/consensus/genesis-validators.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { openSyntheticEngine } from '../devnet/synthetic-engine.ts'

const URLS = {
  beaconUrl: 'http://127.0.0.1:1',
  executionUrl: 'http://127.0.0.1:2',
  secondExecutionUrl: 'http://127.0.0.1:3',
}
const configOf = (env: Environment = {}): Config => readConfig({ EPOCHLINE_CONFIG: '/dev/null', ...env })
const ownOf = (env: Environment = {}) => devnetUpstreams(configOf(env).chains, URLS).networks

test('the devnet’s nodes are upstreams of the networks that its chains are, and say that they follow the devnet’s', () => {
  const common = { network: 'mainnet', service: '' }
  expect(ownOf()).toEqual([
    {
      ...{ ...common, protocol: 'ethereum', identity: '0x6b1239' },
      upstreams: [{ url: 'http://127.0.0.1:2', wsUrl: 'ws://127.0.0.1:2', headers: {}, isArchive: false, weight: 1 }],
    },
    {
      ...{ ...common, protocol: 'ethereum2', identity: GENESIS_VALIDATORS_ROOT },
      upstreams: [{ url: 'http://127.0.0.1:1', headers: {}, isArchive: true, weight: 1 }],
    },
    {
      ...{ ...common, protocol: 'scroll', identity: '0x72f710' },
      upstreams: [{ url: 'http://127.0.0.1:3', wsUrl: 'ws://127.0.0.1:3', headers: {}, isArchive: false, weight: 1 }],
    },
  ])
})

test('the root by which the devnet’s beacon node is told is that of its genesis', async () => {
  const genesisTimeSec = 1_800_000_000
  const engine = await openSyntheticEngine({ genesisTimeSec })
  const { chainId, depositContractAddress } = engine
  const facts = { genesisTimeSec, chainId, depositContractAddress, validators: GENESIS_VALIDATORS }
  const { state } = createGenesis({ seed: 'any', facts, engine })
  expect(hexOf(state.genesisValidatorsRoot)).toBe(GENESIS_VALIDATORS_ROOT)
})

test('the devnet has upstreams of networks alone that the gateway has paths of', () => {
  expect(ownOf({ EPOCHLINE_NETWORK: 'holesky' }).map(gatewayName)).toEqual([
    'ethereum/holesky',
    'ethereum2/holesky',
    'scroll/mainnet',
  ])
  expect(ownOf({ EPOCHLINE_NETWORK: 'hoodi' }).map(gatewayName)).toEqual(['scroll/mainnet'])
})

test('a devnet without a second chain has two upstreams, and chains of nodes have none', () => {
  const two = devnetUpstreams(configOf().chains, { ...URLS, secondExecutionUrl: undefined })
  expect(two.networks.map(gatewayName)).toEqual(['ethereum/mainnet', 'ethereum2/mainnet'])
  expect(ownOf({ BEACON_URL: 'http://a', EXECUTION_URL: 'http://b' })).toEqual([])
})

test('what the file says of a network takes the place of what the devnet has', () => {
  const named: GatewayNetworkConfig = {
    ...{ protocol: 'ethereum', network: 'mainnet', service: '' },
    upstreams: [{ url: 'http://node:1', headers: {}, isArchive: true, weight: 1 }],
  }
  const config = { ...configOf(), gateway: { networks: [named], hosts: [] } }
  const { networks } = gatewayConfigOf(config, URLS)
  expect(networks.map(gatewayName)).toEqual(['ethereum2/mainnet', 'scroll/mainnet', 'ethereum/mainnet'])
  expect(networks.at(-1)).toBe(named)
  expect(gatewayConfigOf(config, undefined)).toEqual(config.gateway)
})

test('nodes of an order leave the devnet’s to all others', () => {
  const ofOrder: GatewayNetworkConfig = {
    ...{ protocol: 'ethereum', network: 'mainnet', service: '', order: 'ord_0123456789abcdef' },
    upstreams: [{ url: 'http://node:1', headers: {}, isArchive: true, weight: 1 }],
  }
  const { networks } = gatewayConfigOf({ ...configOf(), gateway: { networks: [ofOrder], hosts: [] } }, URLS)
  expect(networks.map(gatewayName)).toEqual([
    ...['ethereum/mainnet', 'ethereum2/mainnet', 'scroll/mainnet'],
    'ord_0123456789abcdef ethereum/mainnet',
  ])
})

test('nodes of an order follow the chain that the shared ones of their network do, unless they are said to follow another', () => {
  const of = (given: Partial<GatewayNetworkConfig>): GatewayNetworkConfig => ({
    ...{ protocol: 'ethereum', network: 'mainnet', service: '' },
    upstreams: [{ url: 'http://node:1', headers: {}, isArchive: true, weight: 1 }],
    ...given,
  })
  const order = 'ord_0123456789abcdef'
  const identities = (networks: readonly GatewayNetworkConfig[], { chains } = configOf()) =>
    configuredNetworks({ chains, gateway: { networks, hosts: [] } }).map(({ identity }) => identity)
  expect(identities([of({ order }), of({ order, identity: '0x9' })]), 'the devnet’s').toEqual(['0x6b1239', '0x9'])
  expect(identities([of({ order, protocol: 'ethereum2' })])).toEqual([GENESIS_VALIDATORS_ROOT])
  expect(identities([of({ order }), of({ identity: '0x7' })]), 'the file’s').toEqual(['0x7', '0x7'])
  expect(identities([of({}), of({ order })]), 'what the table says').toEqual([undefined, undefined])
  const nodes = configOf({ BEACON_URL: 'http://a', EXECUTION_URL: 'http://b' })
  expect(identities([of({ order })], nodes), 'without a devnet').toEqual([undefined])
  const { networks } = gatewayConfigOf({ ...configOf(), gateway: { networks: [of({ order })], hosts: [] } }, URLS)
  expect(networks.at(-1)).toEqual(of({ order, identity: '0x6b1239' }))
})

test('a devnet that another process runs is where its settings say', () => {
  const config = configOf({ DEVNET_EXECUTION_PORT: '9' })
  expect(gatewayConfigOf(config, devnetUrls(config)).networks[0]?.upstreams[0]?.url).toBe('http://127.0.0.1:9')
})
