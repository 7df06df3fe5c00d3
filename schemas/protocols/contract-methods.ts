import type { ContractMethods } from './protocol.ts'

/** Of EVM chains, by the names of their clients and layers. */
export const EVM_CONTRACT_METHODS: ContractMethods = {
  transaction: [
    ...['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'eth_fillTransaction', 'linea_estimateGas'],
    ...['eth_sendTransaction', 'eth_signTransaction', 'trace_call', 'arbtrace_call'],
  ],
  // The nonce of an account (`eth_getTransactionCount`) is no contract's matter.
  address: [
    ...['eth_getBalance', 'eth_getCode', 'eth_getStorageAt', 'eth_getProof', 'eth_getAccount'],
    ...['ots_hasCode', 'ots_getContractCreator', 'ots_searchTransactionsBefore', 'ots_searchTransactionsAfter'],
  ],
  logs: ['eth_getLogs', 'eth_newFilter', 'erigon_getLogs', 'erigon_getLatestLogs'],
  subscription: ['eth_subscribe'],
  rawTransaction: ['eth_sendRawTransaction', 'eth_sendRawTransactionSync', 'trace_rawTransaction'],
  // Several at a time, tracers that are programs, and parts of a contract's storage.
  closed: [
    ...['eth_callMany', 'eth_simulateV1', 'eth_callBundle', 'eth_sendBundle', 'eth_getStorageValues'],
    ...['eth_sendRawTransactionConditional', 'eth_sendPrivateTransaction', 'eth_sendPrivateRawTransaction'],
    ...['trace_callMany', 'trace_filter', 'arbtrace_callMany', 'arbtrace_filter', 'debug_traceCall'],
    ...['debug_traceCallMany', 'debug_storageRangeAt', 'debug_accountRange'],
  ],
}

const filecoin = (names: readonly string[]) => names.map((name) => `Filecoin.${name}`)

/** What nodes of Filecoin have besides, some of it by addresses that are not of EVM chains. */
export const FILECOIN_CONTRACT_METHODS: ContractMethods = {
  transaction: [...filecoin(['EthCall', 'EthEstimateGas']), ...EVM_CONTRACT_METHODS.transaction],
  address: [...filecoin(['EthGetBalance', 'EthGetCode', 'EthGetStorageAt']), ...EVM_CONTRACT_METHODS.address],
  logs: [...filecoin(['EthGetLogs', 'EthNewFilter']), ...EVM_CONTRACT_METHODS.logs],
  subscription: [...filecoin(['EthSubscribe']), ...EVM_CONTRACT_METHODS.subscription],
  rawTransaction: [...filecoin(['EthSendRawTransaction']), ...EVM_CONTRACT_METHODS.rawTransaction],
  closed: [
    ...filecoin(['StateCall', 'StateReplay', 'StateCompute', 'StateReadState', 'GasEstimate*', 'MpoolPush*']),
    ...filecoin(['EthTrace*', 'EthSendRawTransactionUntrusted', 'GetActorEventsRaw', 'SubscribeActorEventsRaw']),
    ...EVM_CONTRACT_METHODS.closed,
  ],
}
