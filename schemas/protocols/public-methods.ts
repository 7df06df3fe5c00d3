/** As specification 4.4 spells them. */
const ETHEREUM_METHODS = [
  ...['eth_accounts', 'eth_blockNumber', 'eth_call', 'eth_chainId', 'eth_freeHistory', 'eth_getBalance'],
  ...['eth_getBlockByHash', 'eth_getBlockByNumber', 'eth_getBlockTransactionCountByHash'],
  ...['eth_getBlocTransactionCountByNumber', 'eth_getCode', 'eth_getFilterChanges', 'eth_getFilterLogs'],
  ...['eth_getLogs', 'eth_getStorageAt', 'eth_getTransactionByHash', 'eth_getTransactionByCount'],
  ...['eth_getTransactionHashByCid', 'eth_getTransactionReceipt', 'eth_maxPriorityFeePerGas'],
  ...['eth_newBlockFilter', 'eth_newPendingTransactionFilter', 'eth_sendRawTransaction', 'eth_uninstallFilter'],
  ...['eth_requestAccounts', 'eth_sendTransaction', 'eth_sign', 'eth_gasPrice', 'eth_estimateGas', 'net_version'],
]

/** What three of them are meant to be. The fourth that no Ethereum node knows, `eth_getTransactionHashByCid`, is Filecoin's. */
const ETHEREUM_CORRECTIONS = ['eth_feeHistory', 'eth_getBlockTransactionCountByNumber', 'eth_getTransactionCount']

const BITCOIN_METHODS = [
  ...['getbestblockhash', 'getblock', 'getblockchaininfo', 'getblockcount', 'getblockfilter', 'getblockfrompeer'],
  ...['getblockhash', 'getblockheader', 'getblockstats', 'getchaintips', 'getchaintxstats', 'getdeploymentinfo'],
  ...['getdifficulty', 'getmempoolancestors', 'getmempooldescendants', 'getmempoolentry', 'getmempoolinfo'],
  ...['getrawmempool', 'gettxout', 'gettxoutproof', 'gettxoutsetinfo', 'gettxspendingprevout', 'preciousblock'],
  ...['pruneblockchain', 'savemempool', 'scantxoutset', 'verifychain', 'verifytxoutproof'],
]

const FILECOIN_METHODS = [
  ...['ChainGetBlockMessages', 'ChainGetGenesis', 'ChainGetMessage', 'ChainGetParentMessages'],
  ...['ChainGetParentReceipts', 'ChainGetPath', 'ChainGetTipSet', 'ChainGetTipSetAfterHeight'],
  ...['ChainGetTipSetByHeight', 'ChainHasObj', 'ChainHead', 'ChainPutObj', 'ChainReadObj', 'Discover'],
  ...['EthAccounts', 'EthBlockNumber', 'EthCall', 'EthChainId', 'EthEstimateGas', 'EthFeeHistory', 'EthGasPrice'],
  ...['EthGetBalance', 'EthGetBlockByHash', 'EthGetBlockByNumber', 'EthGetBlockTransactionCountByHash'],
  ...['EthGetBlockTransactionCountByNumber', 'EthGetCode', 'EthGetFilterChanges', 'EthGetFilterLogs'],
  ...['EthGetLogs', 'EthGetMessageCidByTransactionHash', 'EthGetStorageAt', 'EthGetTransactionByHash'],
  ...['EthGetTransactionCount', 'EthGetTransactionHashByCid', 'EthGetTransactionReceipt'],
  ...['EthMaxPriorityFeePerGas', 'EthNewBlockFilter', 'EthNewFilter', 'EthNewPendingTransactionFilter'],
  ...['EthProtocolVersion', 'EthSendRawTransaction', 'EthSubscribe', 'EthUninstallFilter', 'EthUnsubscribe'],
  ...['GasEstimateGasPremium', 'GasEstimateMessageGas', 'MpoolGetNonce', 'MpoolPush', 'MsigGetAvailableBalance'],
  ...['MsigGetPending', 'MsigGetVested', 'MsigGetVestingSchedule', 'NetListening', 'NetVersion'],
  ...['StateAccountKey', 'StateCall', 'StateDealProviderCollateralBounds', 'StateDecodeParams', 'StateGetActor'],
  ...['StateListMiners', 'StateLookupID', 'StateMarketBalance', 'StateMarketStorageDeal', 'StateMinerInfo'],
  ...['StateMinerPower', 'StateMinerProvingDeadline', 'StateMinerSectorCount', 'StateNetworkName'],
  ...['StateNetworkVersion', 'StateReadState', 'StateReplay', 'StateSearchMsg', 'StateSectorGetInfo'],
  ...['StateVerifiedClientStatus', 'StateVerifierStatus', 'StateWaitMsg', 'Version', 'WalletBalance'],
  ...['Web3ClientVersion'],
].map((name) => `Filecoin.${name}`)

/** A way in without a token, for these methods alone, over HTTP alone. */
export interface PublicAccess {
  readonly protocol: string
  readonly network: string
  /** The one route, behind protocol and network. */
  readonly path: string
  /** Names as they are: any other is refused (403). */
  readonly methods: ReadonlySet<string>
  /** Of one client address, of all processes together. */
  readonly callsPerMinute: number
}

/** Filecoin's is that of the specification (section 7); the others' it leaves open. */
const CALLS_PER_MINUTE = 60

const FILECOIN_NETWORKS = ['mainnet', 'calibration', 'hyperspace']
const FILECOIN_SET: ReadonlySet<string> = new Set(FILECOIN_METHODS)

export const PUBLIC_ACCESS: readonly PublicAccess[] = [
  {
    protocol: 'ethereum',
    network: 'mainnet',
    path: '/',
    methods: new Set([...ETHEREUM_METHODS, ...ETHEREUM_CORRECTIONS]),
    callsPerMinute: CALLS_PER_MINUTE,
  },
  {
    ...{ protocol: 'bitcoin', network: 'mainnet', path: '/', callsPerMinute: CALLS_PER_MINUTE },
    methods: new Set(BITCOIN_METHODS),
  },
  ...FILECOIN_NETWORKS.map((network) => ({
    ...{ protocol: 'filecoin', network, path: '/rpc/v1', callsPerMinute: CALLS_PER_MINUTE },
    methods: FILECOIN_SET,
  })),
]

const BY_PLACE: ReadonlyMap<string, PublicAccess> = new Map(
  PUBLIC_ACCESS.map((access) => [placeOf(access.protocol, access.network), access]),
)

/** Undefined: there is no way in without a token. */
export function publicAccessOf(protocol: string, network: string): PublicAccess | undefined {
  return BY_PLACE.get(placeOf(protocol, network))
}

function placeOf(protocol: string, network: string): string {
  return `${protocol}/${network}`
}
