import type { Protocol } from './protocol.ts'
import { jsonRpcAt, rpcProbe } from './routes.ts'

export const NEAR: Protocol = {
  name: 'near',
  networks: { mainnet: { identity: 'mainnet' }, testnet: { identity: 'testnet' } },
  services: [
    {
      name: '',
      routes: jsonRpcAt('/'),
      head: rpcProbe({ method: 'status' }, 'number', ['sync_info', 'latest_block_height']),
      identity: rpcProbe({ method: 'status' }, 'text', ['chain_id']),
      lagMax: 40,
    },
  ],
  methods: {
    reads: [
      ...['block', 'block_effects', 'changes', 'chunk', 'client_config', 'gas_price', 'genesis_config', 'health'],
      ...['light_client_proof', 'maintenance_windows', 'network_info', 'next_light_client_block', 'query', 'receipt'],
      ...['status', 'tx', 'validators', 'EXPERIMENTAL_changes*', 'EXPERIMENTAL_congestion_level'],
      ...['EXPERIMENTAL_genesis_config', 'EXPERIMENTAL_light_client_*', 'EXPERIMENTAL_maintenance_windows'],
      ...['EXPERIMENTAL_protocol_config', 'EXPERIMENTAL_receipt*', 'EXPERIMENTAL_split_storage_info'],
      ...['EXPERIMENTAL_tx_status', 'EXPERIMENTAL_validators_ordered', 'EXPERIMENTAL_view_*'],
    ],
    broadcasts: ['send_tx', 'broadcast_tx_async', 'broadcast_tx_commit'],
    makesFilter: [],
    takesFilter: [],
    refused: ['adv_*', 'sandbox_*'],
    subscribes: {},
  },
}
