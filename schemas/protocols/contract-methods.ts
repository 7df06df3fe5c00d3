import type { ContractMethods } from './protocol.ts'

/** What blocks tell everybody, and what is of the chain, the pool or the node: `eth_…`. */
const OF_BLOCKS = [
  ...['blockNumber', 'chainId', 'feeHistory', 'gasPrice', 'blobBaseFee', 'baseFee', 'config', 'maxPriorityFeePerGas'],
  ...['getBlockByHash', 'getBlockByNumber', 'getBlockReceipts', 'getBlockTransactionCountByHash'],
  ...['getBlockTransactionCountByNumber', 'getHeaderByHash', 'getHeaderByNumber', 'getRawTransactionByHash'],
  ...['getRawTransactionByBlockHashAndIndex', 'getRawTransactionByBlockNumberAndIndex', 'getTransactionByHash'],
  ...['getTransactionByBlockHashAndIndex', 'getTransactionByBlockNumberAndIndex', 'getTransactionReceipt'],
  ...['getTransactionReceiptsByBlock', 'getUncleByBlockHashAndIndex', 'getUncleByBlockNumberAndIndex'],
  ...['getUncleCountByBlockHash', 'getUncleCountByBlockNumber', 'pendingTransactions', 'protocolVersion', 'syncing'],
  // The nonce of an account is no contract's matter.
  ...['getTransactionCount', 'accounts', 'requestAccounts', 'coinbase', 'hashrate', 'mining'],
  ...['newBlockFilter', 'newPendingTransactionFilter', 'unsubscribe'],
  // Of filters that were made by calls which are looked at.
  ...['getFilterChanges', 'getFilterLogs', 'uninstallFilter'],
].map((name) => `eth_${name}`)

/** Of EVM chains, by the names of their clients and layers. */
export const EVM_CONTRACT_METHODS: ContractMethods = {
  transaction: [
    ...['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_fillTransaction', 'linea_estimateGas'],
    ...['eth_sendTransaction', 'trace_call', 'arbtrace_call'],
  ],
  address: [
    ...['eth_getBalance', 'eth_getCode', 'eth_getStorageAt', 'eth_getProof', 'eth_getAccount', 'linea_getProof'],
    ...['ots_hasCode', 'ots_getContractCreator', 'ots_searchTransactionsBefore', 'ots_searchTransactionsAfter'],
  ],
  logs: ['eth_getLogs', 'eth_newFilter', 'erigon_getLogs', 'erigon_getLatestLogs'],
  subscription: ['eth_subscribe'],
  rawTransaction: ['eth_sendRawTransaction', 'eth_sendRawTransactionSync', 'trace_rawTransaction'],
  none: [
    ...OF_BLOCKS,
    ...['net_version', 'net_listening', 'net_peerCount', 'web3_clientVersion', 'web3_sha3', 'rpc_modules'],
    ...['txpool_*', 'debug_getRaw*', 'bor_get*', 'rollup_get*', 'optimism_*', 'parity_getBlockReceipts'],
    ...['erigon_getHeader*', 'erigon_getBlock*', 'ots_getBlock*', 'ots_getTransaction*', 'ots_getHeaderByNumber'],
    ...['ots_getApiLevel', 'ots_traceTransaction', 'ots_getInternalOperations'],
    // Of what is in blocks, without a program of the caller's; those of `debug_` take one.
    ...['trace_block', 'trace_get', 'trace_transaction', 'trace_replayBlockTransactions', 'trace_replayTransaction'],
    ...['arbtrace_block', 'arbtrace_get', 'arbtrace_transaction', 'arbtrace_replayBlockTransactions'],
    'arbtrace_replayTransaction',
  ],
}

const filecoin = (names: readonly string[]) => names.map((name) => `Filecoin.${name}`)

/** What nodes of Filecoin have besides. Much of it names actors by addresses that are not of EVM chains, and is not listed. */
export const FILECOIN_CONTRACT_METHODS: ContractMethods = {
  transaction: [...filecoin(['EthCall', 'EthEstimateGas']), ...EVM_CONTRACT_METHODS.transaction],
  address: [...filecoin(['EthGetBalance', 'EthGetCode', 'EthGetStorageAt']), ...EVM_CONTRACT_METHODS.address],
  logs: [...filecoin(['EthGetLogs', 'EthNewFilter']), ...EVM_CONTRACT_METHODS.logs],
  subscription: [...filecoin(['EthSubscribe']), ...EVM_CONTRACT_METHODS.subscription],
  rawTransaction: [...filecoin(['EthSendRawTransaction']), ...EVM_CONTRACT_METHODS.rawTransaction],
  none: [
    ...filecoin(['ChainHead', 'ChainGetBlock*', 'ChainGetTipSet*', 'ChainGetMessage', 'ChainGetMessagesInTipset']),
    ...filecoin(['ChainGetParent*', 'ChainGetGenesis', 'ChainTipSetWeight', 'BeaconGetEntry', 'Discover', 'Version']),
    ...filecoin(['F3Get*', 'F3IsRunning', 'MpoolGetNonce', 'MpoolPending', 'MpoolSelect', 'NetVersion']),
    ...filecoin(['NetListening', 'SyncState', 'WalletValidateAddress', 'WalletVerify', 'Web3ClientVersion']),
    ...filecoin(['StateNetwork*', 'StateMiner*', 'StateMarket*', 'StateSector*', 'StateCirculatingSupply']),
    ...filecoin(['StateVMCirculatingSupplyInternal', 'StateSearchMsg', 'StateGetRandomness*']),
    ...filecoin(['EthAccounts', 'EthAddressToFilecoinAddress', 'FilecoinAddressToEthAddress', 'EthBlockNumber']),
    ...filecoin(['EthChainId', 'EthFeeHistory', 'EthGasPrice', 'EthGetBlock*', 'EthGetTransaction*', 'EthSyncing']),
    ...filecoin(['EthGetMessageCidByTransactionHash', 'EthMaxPriorityFeePerGas', 'EthProtocolVersion']),
    ...filecoin(['EthNewBlockFilter', 'EthNewPendingTransactionFilter', 'EthGetFilter*', 'EthUninstallFilter']),
    ...EVM_CONTRACT_METHODS.none,
  ],
}
