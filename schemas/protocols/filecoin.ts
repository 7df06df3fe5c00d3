import { FILECOIN_CONTRACT_METHODS } from './contract-methods.ts'
import { EVM_CLOSED, EVM_METHODS } from './evm-methods.ts'
import type { Methods, Protocol } from './protocol.ts'
import { jsonRpcAt, rpcProbe } from './routes.ts'

const RPC_PATH = '/rpc/v1'

const filecoin = (names: readonly string[]) => names.map((name) => `Filecoin.${name}`)

const CHAIN_READS = [
  ...[
    'ChainGet*',
    'ChainHasObj',
    'ChainHead',
    'ChainReadObj',
    'ChainStatObj',
    'ChainTipSetWeight',
    'Discover',
    'Version',
  ],
  ...[
    'BeaconGetEntry',
    'GasEstimate*',
    'F3GetCertificate',
    'F3GetLatestCertificate',
    'F3GetManifest',
    'F3IsRunning',
    'MpoolGetNonce',
    'MpoolPending',
    'MpoolSelect',
  ],
  ...['MsigGetAvailableBalance', 'MsigGetPending', 'MsigGetVested', 'MsigGetVestingSchedule', 'NetVersion'],
  ...['NetListening', 'SyncState', 'WalletBalance', 'WalletValidateAddress', 'WalletVerify', 'Web3ClientVersion'],
  ...['GetActorEventsRaw', 'VerifiedRegistry*'],
]

const STATE_READS = [
  ...['StateAccountKey', 'StateActor*', 'StateAll*', 'StateCall', 'StateChangedActors', 'StateCirculatingSupply'],
  ...['StateCompute', 'StateDealProviderCollateralBounds', 'StateDecodeParams', 'StateEncodeParams', 'StateGet*'],
  ...['StateList*', 'StateLookup*', 'StateMarket*', 'StateMiner*', 'StateNetwork*', 'StateReadState', 'StateReplay'],
  ...['StateSearchMsg', 'StateSector*', 'StateVerified*', 'StateVerifier*', 'StateVMCirculatingSupplyInternal'],
]

const ETH_READS = [
  ...['EthAccounts', 'EthAddressToFilecoinAddress', 'EthBlockNumber', 'EthCall', 'EthChainId', 'EthEstimateGas'],
  ...['EthFeeHistory', 'EthGasPrice', 'EthGetBalance', 'EthGetBlock*', 'EthGetCode', 'EthGetLogs'],
  ...['EthGetMessageCidByTransactionHash', 'EthGetStorageAt', 'EthGetTransaction*', 'EthMaxPriorityFeePerGas'],
  ...['EthProtocolVersion', 'EthSyncing', 'EthTrace*', 'FilecoinAddressToEthAddress'],
]

/** Besides its own methods a node has those of EVM chains. */
const METHODS: Methods = {
  reads: [...filecoin([...CHAIN_READS, ...STATE_READS, ...ETH_READS]), ...EVM_METHODS.reads],
  broadcasts: [...filecoin(['MpoolPush', 'MpoolPushUntrusted', 'EthSendRawTransaction']), ...EVM_METHODS.broadcasts],
  makesFilter: [
    ...filecoin(['EthNewFilter', 'EthNewBlockFilter', 'EthNewPendingTransactionFilter']),
    ...EVM_METHODS.makesFilter,
  ],
  takesFilter: [
    ...filecoin(['EthGetFilterChanges', 'EthGetFilterLogs', 'EthUninstallFilter']),
    ...EVM_METHODS.takesFilter,
  ],
  refused: [
    ...filecoin(['Auth*', 'Log*', 'Shutdown', 'Closing', 'CreateBackup', 'Raft*', 'NodeStatus', 'StartTime']),
    ...filecoin(['ChainSetHead', 'ChainExport*', 'ChainPrune', 'ChainHotGC', 'ChainDelete*', 'ChainCheckBlockstore']),
    ...filecoin(['ChainBlockstoreInfo', 'ChainValidateIndex', 'SyncSubmitBlock', 'SyncMark*', 'SyncUnmark*']),
    ...filecoin(['SyncCheck*', 'NetConnect', 'NetDisconnect', 'NetBlock*', 'NetProtect*', 'NetSetLimit', 'NetLimit']),
    ...filecoin(['MpoolClear', 'MpoolSetConfig', 'MpoolGetConfig', 'MpoolPushMessage', 'MpoolBatchPush*']),
    ...filecoin(['MpoolCheck*', 'WalletNew', 'WalletList', 'WalletHas', 'WalletDelete']),
    ...filecoin(['WalletExport', 'WalletImport', 'WalletSetDefault', 'WalletDefaultAddress', 'WalletSign*']),
    ...filecoin(['Miner*', 'Paych*', 'Client*', 'MarketAddBalance', 'MarketWithdraw', 'MarketReserveFunds']),
    ...filecoin(['MarketReleaseFunds', 'F3Participate']),
    ...EVM_METHODS.refused,
  ],
  closed: EVM_CLOSED,
  subscribes: {},
  contracts: FILECOIN_CONTRACT_METHODS,
}

export const FILECOIN: Protocol = {
  name: 'filecoin',
  networks: {
    mainnet: { identity: 'mainnet' },
    calibration: { identity: 'calibrationnet' },
    hyperspace: { isRetired: true },
  },
  services: [
    {
      name: '',
      routes: jsonRpcAt(RPC_PATH),
      head: rpcProbe({ method: 'Filecoin.ChainHead', path: RPC_PATH }, 'number', ['Height']),
      identity: rpcProbe({ method: 'Filecoin.StateNetworkName', path: RPC_PATH }, 'text'),
      lagMax: 10,
    },
  ],
  methods: METHODS,
}
