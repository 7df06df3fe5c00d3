import type { Protocol } from './protocol.ts'
import { restProbe, restReads, restWrites } from './routes.ts'

const chain = (names: readonly string[]) => names.map((name) => `/v1/chain/${name}`)

const CHAIN_READS = chain([
  ...['get_info', 'get_block', 'get_block_info', 'get_block_header', 'get_block_header_state', 'get_raw_block'],
  ...['get_account', 'get_accounts_by_authorizers', 'get_code', 'get_code_hash', 'get_abi', 'get_raw_abi'],
  ...['get_raw_code_and_abi', 'get_table_rows', 'get_table_by_scope', 'get_kv_table_rows', 'get_currency_balance'],
  ...['get_currency_stats', 'get_producers', 'get_producer_schedule', 'get_scheduled_transactions'],
  ...['get_required_keys', 'get_transaction_id', 'get_transaction_status', 'get_activated_protocol_features'],
  ...['get_consensus_parameters', 'get_finalizer_info', 'abi_json_to_bin', 'abi_bin_to_json'],
])

const HISTORY_READS = ['get_actions', 'get_transaction', 'get_key_accounts', 'get_controlled_accounts'].map(
  (name) => `/v1/history/${name}`,
)

/** Execute a transaction, and forget what it did. */
const COMPUTED = chain(['compute_transaction', 'send_read_only_transaction'])

const SENT = chain(['push_transaction', 'push_transactions', 'send_transaction', 'send_transaction2'])

export const EOS: Protocol = {
  name: 'eos',
  networks: { mainnet: { identity: 'aca376f206b8fc25a6ed44dbdc66547c36c6c33e3a119ffbeaef943642f0e906' } },
  services: [
    {
      name: '',
      routes: [
        ...restReads(['GET', 'POST'], [...CHAIN_READS, ...HISTORY_READS]),
        ...restReads(['POST'], COMPUTED),
        ...restWrites(SENT),
      ],
      head: restProbe('/v1/chain/get_info', 'number', ['head_block_num']),
      identity: restProbe('/v1/chain/get_info', 'text', ['chain_id']),
      lagMax: 180,
    },
  ],
}
