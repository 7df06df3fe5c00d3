import type { Protocol } from './protocol.ts'
import { jsonRpcAt } from './routes.ts'

const CALLED_BACK = ['url', 'url_username', 'url_password']

// Its answers name the network only where it is not the main one, so there is nothing to compare.
export const XRP: Protocol = {
  name: 'xrp',
  networks: { mainnet: {} },
  services: [
    {
      name: '',
      routes: jsonRpcAt('/'),
      // Its JSON-RPC has no version and no id.
      head: {
        verb: 'POST',
        path: '/',
        body: { method: 'server_info', params: [{}] },
        at: ['result', 'info', 'validated_ledger', 'seq'],
        as: 'number',
      },
      lagMax: 10,
    },
  ],
  methods: {
    reads: [
      ...['account_channels', 'account_currencies', 'account_info', 'account_lines', 'account_nfts'],
      ...['account_objects', 'account_offers', 'account_tx', 'amm_info', 'book_changes', 'book_offers'],
      ...['channel_verify', 'deposit_authorized', 'feature', 'fee', 'gateway_balances', 'get_aggregate_price'],
      ...['ledger', 'ledger_closed', 'ledger_current', 'ledger_data', 'ledger_entry', 'ledger_index', 'manifest'],
      ...['mpt_holders', 'nft_buy_offers', 'nft_history', 'nft_info', 'nft_sell_offers', 'nfts_by_issuer'],
      ...['noripple_check', 'ping', 'random', 'ripple_path_find', 'server_definitions', 'server_info'],
      ...['server_state', 'simulate', 'transaction_entry', 'tx', 'tx_history', 'vault_info', 'version'],
    ],
    broadcasts: ['submit', 'submit_multisigned'],
    makesFilter: [],
    takesFilter: [],
    refused: [
      ...['stop', 'connect', 'can_delete', 'ledger_accept', 'ledger_cleaner', 'ledger_request', 'log_level'],
      ...['logrotate', 'consensus_info', 'fetch_info', 'get_counts', 'peers', 'peer_reservations_*', 'print'],
      ...['unl_list', 'validator_info', 'validator_list_sites', 'validators', 'crawl_shards', 'download_shard'],
      ...['node_to_shard', 'blacklist', 'tx_reduce_relay'],
      // Has calls in its parameters, which would be whatever they like.
      'batch',
      // Take or make secret keys.
      ...['sign', 'sign_for', 'channel_authorize', 'validation_create', 'validation_seed', 'wallet_propose'],
      'wallet_seed',
    ],
    refusedWith: {
      // Signed here, it would take a secret to every node.
      submit: ['secret', 'seed', 'seed_hex', 'passphrase', 'tx_json'],
      // Nodes do so for those whom they take for their administrators, as they may take us: tell a server of the client's, and vote.
      subscribe: CALLED_BACK,
      unsubscribe: CALLED_BACK,
      feature: ['vetoed'],
    },
    subscribes: { subscribe: 'unsubscribe' },
  },
  webSocket: { path: '/', methodKey: 'command' },
}
