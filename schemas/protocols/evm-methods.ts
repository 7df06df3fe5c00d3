import { EVM_CONTRACT_METHODS } from './contract-methods.ts'
import type { KeptReads, Methods } from './protocol.ts'

const READS = [
  ...['blockNumber', 'call', 'callMany', 'chainId', 'createAccessList', 'estimateGas', 'feeHistory', 'gasPrice'],
  ...['blobBaseFee', 'config', 'getAccount', 'getBalance', 'getBlockByHash', 'getBlockByNumber', 'getBlockReceipts'],
  ...['getBlockTransactionCountByHash', 'getBlockTransactionCountByNumber', 'getCode', 'getHeaderByHash'],
  ...['getHeaderByNumber', 'getLogs', 'getProof', 'getRawTransactionByHash', 'getRawTransactionByBlockHashAndIndex'],
  ...['getRawTransactionByBlockNumberAndIndex', 'getStorageAt', 'getStorageValues', 'getTransactionByHash'],
  ...['getTransactionByBlockHashAndIndex', 'getTransactionByBlockNumberAndIndex', 'getTransactionCount'],
  ...['getTransactionReceipt', 'getTransactionReceiptsByBlock', 'getUncleByBlockHashAndIndex'],
  ...['getUncleByBlockNumberAndIndex', 'getUncleCountByBlockHash', 'getUncleCountByBlockNumber'],
  ...['maxPriorityFeePerGas', 'pendingTransactions', 'protocolVersion', 'simulateV1', 'syncing', 'baseFee'],
  // Of the node itself; what needs its keys is not among them.
  ...['accounts', 'requestAccounts', 'coinbase', 'hashrate', 'mining'],
].map((name) => `eth_${name}`)

/** What looks at the past of a chain, by several names. */
const TRACES = [
  ...['trace_*', 'arbtrace_*', 'ots_*', 'txpool_*'],
  ...['debug_getRawBlock', 'debug_getRawHeader', 'debug_getRawReceipts', 'debug_getRawTransaction', 'debug_getRawTd'],
  ...['debug_traceTransaction', 'debug_traceTransactionByBlockhashAndIndex', 'debug_traceTransactionByBlockAndIndex'],
  ...['debug_traceTransactionInBlockByHash', 'debug_traceTransactionInBlockByIndex', 'debug_traceCall'],
  ...['debug_traceCallMany', 'debug_traceBlock', 'debug_traceBlockByHash', 'debug_traceBlockByNumber'],
  ...['debug_traceBadBlock', 'debug_traceBorBlock', 'debug_getModifiedAccountsByHash'],
  ...['debug_getModifiedAccountsByNumber', 'debug_storageRangeAt', 'debug_accountRange', 'debug_accountAt'],
  ...['debug_intermediateRoots', 'debug_getBadBlocks', 'debug_getAccessibleState', 'debug_preimage'],
  ...['debug_getBlockRlp', 'debug_getBlockRlpByHash', 'debug_executionWitness', 'debug_executionWitnessByBlockHash'],
  'debug_codeByHash',
]

/** Beside what looks at the past, clients have here what rewinds, deletes, migrates and writes to disk, each by names of its own. */
export const EVM_CLOSED: readonly string[] = ['debug_*']

/** Clients' and layers' own. */
const OTHERS = [
  ...['net_version', 'net_listening', 'net_peerCount', 'web3_clientVersion', 'web3_sha3', 'rpc_modules'],
  ...['bor_get*', 'erigon_get*', 'scroll_get*', 'rollup_get*', 'optimism_*', 'linea_*', 'parity_getBlockReceipts'],
]

/** What geth keeps without `--gcmode archive`; other clients keep as much or more. */
export const EVM_STATES_KEPT = 128

/** The block is a number, or an object with it (EIP-1898); of `trace_filter` the first of several. */
const BLOCK_AT = {
  ...{ eth_getBalance: 1, eth_getCode: 1, eth_getTransactionCount: 1, eth_getStorageAt: 2, eth_getStorageValues: 1 },
  ...{ eth_getProof: 2, eth_getAccount: 1, eth_call: 1, eth_callMany: 1, eth_estimateGas: 1, eth_createAccessList: 1 },
  ...{ eth_simulateV1: 1, debug_traceCall: 1, debug_traceBlockByNumber: 0, debug_accountRange: 0 },
  ...{ debug_getModifiedAccountsByNumber: 0, trace_block: 0, trace_call: 2, trace_callMany: 1, trace_filter: 0 },
  ...{ trace_replayBlockTransactions: 0, arbtrace_block: 0, arbtrace_call: 2, arbtrace_callMany: 1 },
  ...{ arbtrace_filter: 0, arbtrace_replayBlockTransactions: 0 },
}

/**
 * What tells of which block it is. The state of an account does not, nor does a list of logs: a node that lacks them may answer 0 or nothing.
 */
const KEPT: KeptReads = {
  always: ['eth_chainId', 'net_version'],
  ofFinal: {
    eth_getBlockByNumber: { block: 'number', named: 'number' },
    eth_getBlockByHash: { block: 'number', named: 'hash' },
    eth_getTransactionByHash: { block: 'blockNumber', named: 'hash' },
    eth_getTransactionByBlockNumberAndIndex: { block: 'blockNumber', named: 'blockNumber' },
    eth_getTransactionByBlockHashAndIndex: { block: 'blockNumber', named: 'blockHash' },
    eth_getTransactionReceipt: { block: 'blockNumber', named: 'transactionHash' },
  },
}

export const EVM_METHODS: Methods = {
  reads: [...READS, ...TRACES, ...OTHERS],
  broadcasts: ['eth_sendRawTransaction'],
  findsBroadcast: 'eth_getTransactionByHash',
  blockAt: BLOCK_AT,
  kept: KEPT,
  makesFilter: ['eth_newFilter', 'eth_newBlockFilter', 'eth_newPendingTransactionFilter'],
  takesFilter: ['eth_getFilterChanges', 'eth_getFilterLogs', 'eth_uninstallFilter'],
  refused: [
    ...['admin_*', 'personal_*', 'miner_*', 'engine_*', 'clique_*', 'ethash_*', 'les_*', 'bor_set*'],
    ...['parity_set*', 'parity_add*', 'parity_remove*', 'parity_clear*', 'parity_new*', 'parity_change*'],
    ...['parity_kill*', 'parity_import*', 'parity_export*', 'parity_test*', 'parity_derive*', 'parity_open*'],
    ...['parity_close*', 'parity_accept*', 'parity_reject*', 'parity_reserved*', 'parity_sign*', 'parity_post*'],
    ...['parity_decrypt*', 'parity_confirm*', 'parity_start*', 'parity_stop*', 'parity_execute*', 'parity_drop*'],
    ...['perm_*', 'plugins_*', 'quorumPermission_*', 'raft_*', 'istanbul_*', 'ibft_propose*', 'ibft_discard*'],
    ...['qbft_propose*', 'qbft_discard*', 'net_add*', 'net_remove*', 'shh_*', 'erigon_setHead', 'eth_set*'],
    ...['vault_*', 'opp2p_*'],
    // Those of the wallet that the specification has not among its public methods.
    ...['eth_resend', 'eth_signTypedData*', 'eth_signTransaction', 'eth_sendUnsignedTransaction'],
    // Nodes for tests let everyone rewrite their chain.
    ...['anvil_*', 'hardhat_*', 'evm_*', 'tenderly_*', 'ganache_*'],
  ],
  closed: EVM_CLOSED,
  subscribes: { eth_subscribe: 'eth_unsubscribe' },
  contracts: EVM_CONTRACT_METHODS,
}
