// What nodes of each protocol answer, in the shapes in which they were seen to. Written down by what nodes print and their documents show, and not made
// of the table that the gateway goes by: what that one expects elsewhere is not found here.

/** A question as a client asks it behind the token, and a node's answer. */
export interface Recorded {
  readonly verb: 'GET' | 'POST'
  readonly path: string
  /** Where nodes have it, if elsewhere. */
  readonly nodePath?: string
  /** Of JSON-RPC. */
  readonly method?: string
  readonly params?: unknown
  /** Of a POST that is none. */
  readonly sent?: string
  readonly status: number
  /** `$ID` is what the call has as its id, `$HEAD` the newest block's number as the chain writes it, `$IDENTITY` what tells the network. */
  readonly body: string
}

export interface RecordedNode {
  /** As `$HEAD`; undefined: there are no blocks. */
  readonly head: string | undefined
  /** The number that it stands for. */
  readonly number: number | undefined
  readonly newest: Recorded | undefined
  /** Undefined: nodes do not tell. */
  readonly identity: Recorded | undefined
  /** An error of the chain's own kind. */
  readonly failed: Recorded
  /** What is nobody's to ask, and the gateway's status. */
  readonly refused: Pick<Recorded, 'verb' | 'path' | 'method'> & { readonly status: 403 | 404 }
}

const HASH = `0x${'5e'.repeat(32)}`
const get = (path: string, body: string, more: Partial<Recorded> = {}): Recorded => ({
  ...{ verb: 'GET', path, status: 200, body },
  ...more,
})
const call = (method: string, body: string, more: Partial<Recorded> = {}): Recorded => ({
  ...{ verb: 'POST', path: '/', method, params: [], status: 200, body },
  ...more,
})
const refusedCall = (method: string, path = '/') => ({ verb: 'POST', path, method, status: 403 }) as const
const refusedPath = (verb: 'GET' | 'POST', path: string) => ({ verb, path, status: 404 }) as const

/** Of geth and its like. */
const ofGeth = (result: string) => `{"jsonrpc":"2.0","id":$ID,"result":${result}}\n`
/** Of polkadot-sdk, Solana, Lotus and others, which write the id last. */
const idLast = (result: string) => `{"jsonrpc":"2.0","result":${result},"id":$ID}`
const idLastError = (error: string) => `{"jsonrpc":"2.0","error":${error},"id":$ID}`
/** Of Bitcoin Core and what was made of it: JSON-RPC 1.0. */
const ofCore = (result: string, error = 'null') => `{"result":${result},"error":${error},"id":$ID}\n`

function evm(path = '/'): RecordedNode {
  const at = { path }
  const revert = `{"code":3,"message":"execution reverted: Dai/insufficient-balance","data":"0x08c379a0${'00'.repeat(64)}"}`
  return {
    head: '0x1522c3b',
    number: 22_162_491,
    newest: call('eth_blockNumber', ofGeth('"$HEAD"'), at),
    identity: call('eth_chainId', ofGeth('"$IDENTITY"'), at),
    failed: call('eth_call', `{"jsonrpc":"2.0","id":$ID,"error":${revert}}\n`, { ...at, params: [{}, 'latest'] }),
    refused: refusedCall('admin_peers', path),
  }
}

function bitcoinType(): RecordedNode {
  return {
    head: '890123',
    number: 890_123,
    newest: call('getblockcount', ofCore('$HEAD')),
    identity: call('getblockhash', ofCore('"$IDENTITY"'), { params: [0] }),
    failed: call('getblock', ofCore('null', '{"code":-5,"message":"Block not found"}'), {
      ...{ params: ['00'.repeat(32)], status: 500 },
    }),
    refused: refusedCall('stop'),
  }
}

function substrate(): RecordedNode {
  const digest =
    '{"logs":["0x0642414245b501032f000000fe5f3d1100000000","0x05424142450101a0c8c0e1b9d0c1ab0f3c1dd6f3b8a5f0"]}'
  const header = `{"parentHash":"${HASH}","number":"$HEAD","stateRoot":"${HASH}","extrinsicsRoot":"${HASH}","digest":${digest}}`
  return {
    head: '0x18a5b2c',
    number: 25_844_524,
    newest: call('chain_getHeader', idLast(header)),
    identity: call('chain_getBlockHash', idLast('"$IDENTITY"'), { params: [0] }),
    failed: call('state_getRuntimeVersion', idLastError(`{"code":4003,"message":"Client error: UnknownBlock"}`), {
      params: [HASH],
    }),
    refused: refusedCall('author_rotateKeys'),
  }
}

const TON_BLOCK = `"shard":"-9223372036854775808","seqno":$HEAD,"root_hash":"qe2QTVuhQDOYLNPK2yFxl9nGAsrQ4EY6VVSZn89m6dQ="`
const TON_FIRST =
  '"shard":"0","seqno":0,"root_hash":"$IDENTITY","file_hash":"XplPz01CXAps5qeSWUtxcyBfdAo5zVb1N979KLSKD24="'
const tonV2 = get(
  '/api/v2/getMasterchainInfo',
  `{"ok":true,"result":{"@type":"blocks.masterchainInfo","last":{"@type":"ton.blockIdExt","workchain":-1,${TON_BLOCK},"file_hash":"p8q63ShU6mOoMR7WX4TB4kXlKlefazFQknWFoMJDiTE="},"state_root_hash":"sRL+rhk/qXpzDweLFEC41+XseK7AScl82e93uLRgpOo=","init":{"@type":"ton.blockIdExt","workchain":-1,${TON_FIRST}},"@extra":"1716355541.08875:0:0.0249"}}`,
)
const TON_V3_BLOCK =
  '"workchain":-1,"shard":"8000000000000000","root_hash":"+aUnATn9mWDRk5ov6LYyxatFhfEw0QOrjuy3PRY8Kg=","global_id":$IDENTITY,"version":0,"want_merge":true,"key_block":false,"gen_utime":"1735057940","start_lt":"52193982000000"'
const tonV3 = get(
  '/api/v3/masterchainInfo',
  `{"last":{"seqno":$HEAD,${TON_V3_BLOCK}},"first":{"seqno":1,${TON_V3_BLOCK}}}`,
)

const TRON_HEADER = (number: string) =>
  `"block_header":{"raw_data":{${number}"txTrieRoot":"${'64'.repeat(32)}","witness_address":"41${'35'.repeat(20)}","parentHash":"${'e5'.repeat(32)}","timestamp":1735057941000},"witness_signature":"${'ab'.repeat(65)}"}`

const BEACON_GENESIS =
  '{"data":{"genesis_time":"1606824023","genesis_validators_root":"$IDENTITY","genesis_fork_version":"0x00000000"}}'

const FILECOIN_BLOCK = `{"Miner":"f01234","Ticket":{"VRFProof":"Bw=="},"Parents":[{"/":"bafy2bzacea3wsdh6y3a36tb3skempjoxqpuyompjbmfeyf34fi3uy6uue42v4"}],"ParentWeight":"0","Height":$HEAD,"Timestamp":1735057940,"ForkSignaling":0,"ParentBaseFee":"100"}`

const NEAR_STATUS = (chain: string) =>
  `{"version":{"version":"2.5.0","build":"2.5.0","rustc_version":"1.82.0"},"chain_id":"${chain}","protocol_version":75,"latest_protocol_version":75,"rpc_addr":"0.0.0.0:3030","validators":[],"sync_info":{"latest_block_hash":"EczErquQLMpUvTQpKupoQp5yNkLNbjWHpaBfU5FuWYDS","latest_block_height":$HEAD,"latest_state_root":"4aWQK","latest_block_time":"2025-03-21T02:30:01.1Z","syncing":false,"earliest_block_hash":null},"validator_account_id":null,"node_key":null,"uptime_sec":108}`

const EOS_INFO =
  '{"server_version":"f5d1a2b3","chain_id":"$IDENTITY","head_block_num":$HEAD,"last_irreversible_block_num":424239700,"head_block_id":"19497bd2","head_block_time":"2025-03-21T02:30:01.000","head_block_producer":"eosflytomars","virtual_block_cpu_limit":200000,"block_net_limit":1048576,"server_version_string":"v1.0.3","fork_db_head_block_num":424240000}'

const APTOS_ROOT =
  '{"chain_id":$IDENTITY,"epoch":"10842","ledger_version":"2468013579","oldest_ledger_version":"0","ledger_timestamp":"1742524201000000","node_role":"full_node","oldest_block_height":"0","block_height":"$HEAD","git_hash":"a1b2c3"}'

const COSMOS_BLOCK =
  '{"block_id":{"hash":"TH0a","part_set_header":{"total":1,"hash":"aa"}},"block":{"header":{"version":{"block":"11","app":"0"},"chain_id":"cosmoshub-4","height":"$HEAD","time":"2025-03-21T02:30:01.1Z"},"data":{"txs":[]},"evidence":{"evidence":[]}},"sdk_block":{"header":{"chain_id":"cosmoshub-4","height":"$HEAD"}}}'

const XRP_INFO =
  '{"result":{"info":{"build_version":"2.4.0","complete_ledgers":"32570-94567890","hostid":"LIED","io_latency_ms":1,"last_close":{"converge_time_s":3,"proposers":35},"load_factor":1,"network_id":0,"peers":22,"server_state":"full","uptime":1852778,"validated_ledger":{"age":2,"base_fee_xrp":1e-05,"hash":"239AEF90","reserve_base_xrp":1,"reserve_inc_xrp":0.2,"seq":$HEAD},"validation_quorum":28},"status":"success"}}'

/** By protocol, of TON by protocol and service. */
export const RECORDED: Readonly<Record<string, RecordedNode>> = {
  ...Object.fromEntries(
    [
      ...['ethereum', 'bsc', 'polygon', 'etc', 'fantom', 'arbitrum', 'optimism', 'base', 'scroll', 'blast'],
      'worldchain',
    ].map((name) => [name, evm()]),
  ),
  avax: evm('/ext/bc/C/rpc'),
  ...Object.fromEntries(
    ['bitcoin', 'litecoin', 'bch', 'bsv', 'omni', 'dogecoin', 'dash', 'zcash', 'qtum'].map((name) => [
      name,
      bitcoinType(),
    ]),
  ),
  polkadot: substrate(),
  kusama: substrate(),
  solana: {
    head: '328123456',
    number: 328_123_456,
    newest: call('getSlot', idLast('$HEAD')),
    identity: call('getGenesisHash', idLast('"$IDENTITY"')),
    failed: call(
      'getBlock',
      idLastError('{"code":-32009,"message":"Slot 100 was skipped, or missing in long-term storage"}'),
      { params: [100] },
    ),
    refused: refusedPath('GET', '/metrics'),
  },
  'ton/v2': {
    head: '43264868',
    number: 43_264_868,
    newest: tonV2,
    identity: tonV2,
    failed: get(
      '/api/v2/lookupBlock?workchain=-1&shard=-9223372036854775808&seqno=1',
      '{"ok":false,"error":"LITE_SERVER_NOTREADY: ltdb: block not found","code":500}',
      { status: 500 },
    ),
    refused: refusedPath('GET', '/api/v2/getOutMsgQueueSizes'),
  },
  'ton/v3': {
    head: '43264868',
    number: 43_264_868,
    newest: tonV3,
    identity: tonV3,
    failed: get('/api/v3/masterchainBlockShards?seqno=1', '{"error":"masterchain block not found"}', { status: 404 }),
    refused: refusedPath('GET', '/api/v3/actions'),
  },
  tron: {
    head: '70123456',
    number: 70_123_456,
    newest: get(
      '/wallet/getnowblock',
      `{"blockID":"${'42'.repeat(32)}",${TRON_HEADER('"number":$HEAD,')},"transactions":[]}`,
      {
        ...{ verb: 'POST', sent: '{}' },
      },
    ),
    identity: get('/wallet/getblockbynum', `{"blockID":"$IDENTITY",${TRON_HEADER('')}}`, {
      ...{ verb: 'POST', sent: '{"num":0}' },
    }),
    failed: get(
      '/wallet/getaccount',
      '{"Error":"class com.google.protobuf.InvalidProtocolBufferException : Protocol message had invalid UTF-8."}',
      { verb: 'POST', sent: '{"address":"x"}' },
    ),
    refused: refusedPath('POST', '/wallet/easytransferbyprivate'),
  },
  ethereum2: {
    head: '11234567',
    number: 11_234_567,
    newest: get(
      '/eth/v1/node/syncing',
      '{"data":{"head_slot":"$HEAD","sync_distance":"0","is_syncing":false,"is_optimistic":false,"el_offline":false}}',
    ),
    identity: get('/eth/v1/beacon/genesis', BEACON_GENESIS),
    failed: get(
      '/eth/v2/beacon/blocks/999999999',
      '{"code":404,"message":"NOT_FOUND: beacon block at slot 999999999"}',
      {
        status: 404,
      },
    ),
    refused: refusedPath('POST', '/eth/v1/validator/prepare_beacon_proposer'),
  },
  filecoin: {
    head: '4812345',
    number: 4_812_345,
    newest: call(
      'Filecoin.ChainHead',
      idLast(`{"Cids":[{"/":"bafy2bzaceb"}],"Blocks":[${FILECOIN_BLOCK}],"Height":$HEAD}`),
      { path: '/rpc/v1' },
    ),
    identity: call('Filecoin.StateNetworkName', idLast('"$IDENTITY"'), { path: '/rpc/v1' }),
    failed: call('Filecoin.ChainGetMessage', idLastError('{"code":1,"message":"ipld: could not find bafy2bzaceb"}'), {
      ...{ path: '/rpc/v1', params: [{ '/': 'bafy2bzaceb' }] },
    }),
    refused: refusedCall('Filecoin.WalletExport', '/rpc/v1'),
  },
  ipfs: {
    head: undefined,
    number: undefined,
    newest: undefined,
    identity: get('/ipfs/bafkqabrcnfygm4zc', '"$IDENTITY"'),
    failed: get(
      '/ipfs/bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/none',
      'failed to resolve /ipfs/bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/none: no link named "none"\n',
      { status: 404 },
    ),
    refused: refusedPath('POST', '/api/v0/pin/add'),
  },
  near: {
    head: '142345678',
    number: 142_345_678,
    newest: call('status', idLast(NEAR_STATUS('$IDENTITY'))),
    identity: call('status', idLast(NEAR_STATUS('$IDENTITY'))),
    // Of a transaction that nobody knows, after ten seconds.
    failed: call(
      'tx',
      idLastError(
        '{"name":"HANDLER_ERROR","cause":{"info":{},"name":"TIMEOUT_ERROR"},"code":-32000,"message":"Server error","data":"Timeout"}',
      ),
      { params: ['7AfonAhbK4ZbdBU9VPcQdrTZVZBXE25HmZAMEABs9To1', 'a.near'], status: 408 },
    ),
    refused: refusedCall('adv_produce_blocks'),
  },
  eos: {
    head: '424240082',
    number: 424_240_082,
    newest: get('/v1/chain/get_info', EOS_INFO),
    identity: get('/v1/chain/get_info', EOS_INFO),
    failed: get(
      '/v1/chain/get_block',
      '{"code":500,"message":"Internal Service Error","error":{"code":3100002,"name":"unknown_block_exception","what":"Unknown block","details":[]}}',
      { verb: 'POST', sent: '{"block_num_or_id":"x"}', status: 500 },
    ),
    refused: refusedPath('POST', '/v1/producer/pause'),
  },
  aptos: {
    head: '298123456',
    number: 298_123_456,
    newest: get('/v1', APTOS_ROOT),
    identity: get('/v1', APTOS_ROOT),
    failed: get(
      '/v1/accounts/0x1234',
      '{"message":"Account not found by Address(0x1234) and Ledger version(2468013579)","error_code":"account_not_found","vm_error_code":null}',
      { status: 404 },
    ),
    refused: refusedPath('GET', '/v1/set_failpoint'),
  },
  sui: {
    head: '126345678',
    number: 126_345_678,
    newest: call('sui_getLatestCheckpointSequenceNumber', ofGeth('"$HEAD"').trim()),
    identity: call('sui_getChainIdentifier', ofGeth('"$IDENTITY"').trim()),
    failed: call(
      'sui_getCheckpoint',
      '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"Verified checkpoint not found for sequence number 999"}}',
      { params: ['999'] },
    ),
    refused: refusedPath('GET', '/metrics'),
  },
  cosmos: {
    head: '24812345',
    number: 24_812_345,
    newest: get('/blocks/latest', COSMOS_BLOCK, { nodePath: '/cosmos/base/tendermint/v1beta1/blocks/latest' }),
    identity: get(
      '/cosmos/base/tendermint/v1beta1/node_info',
      '{"default_node_info":{"protocol_version":{"p2p":"8","block":"11","app":"0"},"default_node_id":"821fa0f7","listen_addr":"tcp://0.0.0.0:26656","network":"$IDENTITY","version":"0.38.19"},"application_version":{"name":"gaia","app_name":"gaiad","version":"v22.0.0"}}',
    ),
    failed: get(
      '/cosmos/auth/v1beta1/accounts/cosmos1x',
      '{"code":3,"message":"decoding bech32 failed: invalid separator index -1","details":[]}',
      { status: 400 },
    ),
    refused: refusedPath('GET', '/dump_consensus_state'),
  },
  xrp: {
    head: '94567890',
    number: 94_567_890,
    newest: call('server_info', XRP_INFO, { params: [{}] }),
    identity: undefined,
    failed: call(
      'account_info',
      '{"result":{"account":"rG1QQv2nh2gr7RCZ1P8YYcBUKCCN633jCn","error":"actNotFound","error_code":19,"error_message":"Account not found.","ledger_index":94567890,"status":"error","validated":true}}',
      { params: [{ account: 'rG1QQv2nh2gr7RCZ1P8YYcBUKCCN633jCn' }] },
    ),
    refused: refusedCall('stop'),
  },
  starknet: {
    head: '1234567',
    number: 1_234_567,
    newest: call('starknet_blockNumber', idLast('$HEAD')),
    identity: call('starknet_chainId', idLast('"$IDENTITY"')),
    failed: call('starknet_getBlockWithTxHashes', idLastError('{"code":24,"message":"Block not found"}'), {
      params: [{ block_number: 99_999_999 }],
    }),
    refused: refusedPath('GET', '/metrics'),
  },
}
