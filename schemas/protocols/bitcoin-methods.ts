import type { Methods } from './protocol.ts'

const CHAIN = [
  ...['getbestblockhash', 'getblock', 'getblockchaininfo', 'getblockcount', 'getblockfilter', 'getblockhash'],
  ...['getblockhashes', 'getblockheader', 'getblockheaders', 'getblockstats', 'getchaintips', 'getchaintxstats'],
  ...['getdeploymentinfo', 'getdifficulty', 'gettxout', 'gettxoutproof', 'gettxoutsetinfo', 'gettxspendingprevout'],
  ...['verifytxoutproof', 'getmerkleproof', 'getmerkleproof2', 'getsettings', 'getchainstates', 'getindexinfo'],
]

const MEMPOOL = [
  ...['getmempoolancestors', 'getmempooldescendants', 'getmempoolentry', 'getmempoolinfo', 'getrawmempool'],
  ...['getmempoolcluster', 'getorphantxs', 'testmempoolaccept', 'estimatefee', 'estimatesmartfee', 'estimaterawfee'],
]

const TRANSACTIONS = [
  ...['getrawtransaction', 'decoderawtransaction', 'decodescript', 'createrawtransaction', 'combinerawtransaction'],
  ...['createpsbt', 'decodepsbt', 'analyzepsbt', 'combinepsbt', 'finalizepsbt', 'converttopsbt', 'joinpsbts'],
  ...['utxoupdatepsbt', 'validateaddress', 'verifymessage', 'createmultisig', 'deriveaddresses', 'getdescriptorinfo'],
]

const NODE = [
  ...['getinfo', 'getnetworkinfo', 'getnetworkhashps', 'getmininginfo', 'getconnectioncount', 'getpeerinfo'],
  ...['getnettotals', 'getzmqnotifications', 'uptime', 'help', 'ping'],
]

/** What the family's others add. */
const ADDITIONS = [
  // Dash, and Zcash with its index of addresses.
  ...['getaddressbalance', 'getaddressdeltas', 'getaddressmempool', 'getaddresstxids', 'getaddressutxos'],
  ...[
    'getspentinfo',
    'getblockdeltas',
    'getspecialtxes',
    'getbestchainlock',
    'getgovernanceinfo',
    'getassetunlockstatuses',
  ],
  ...['getsuperblockbudget', 'verifychainlock', 'verifyislock', 'masternodelist', 'getblocksubsidy'],
  // Zcash.
  ...['z_getblockchaininfo', 'z_gettreestate', 'z_getsubtreesbyindex', 'z_validateaddress', 'z_listunifiedreceivers'],
  // Qtum.
  ...['callcontract', 'getaccountinfo', 'getstorage', 'gettransactionreceipt', 'listcontracts', 'searchlogs'],
  ...[
    'getestimatedannualroi',
    'getdelegationinfoforaddress',
    'getdelegationsforstaker',
    'gethexaddress',
    'fromhexaddress',
  ],
  ...['qrc20name', 'qrc20symbol', 'qrc20totalsupply', 'qrc20decimals', 'qrc20balanceof', 'qrc20allowance'],
  // Omni.
  ...['omni_get*', 'omni_list*', 'omni_decodetransaction', 'omni_createpayload_*', 'omni_createrawtx_*'],
]

const CONTROL = [
  ...['stop', 'logging', 'addnode', 'disconnectnode', 'setban', 'clearbanned', 'setnetworkactive', 'addpeeraddress'],
  ...['addconnection', 'invalidateblock', 'reconsiderblock', 'loadtxoutset', 'prioritisetransaction', 'setmocktime'],
  ...['mockscheduler', 'setgenerate', 'generate*', 'dump*', 'import*', 'setexcessiveblock', 'setblockmaxsize'],
  ...['parkblock', 'unparkblock', 'finalizeblock', 'freeze*', 'sporkupdate', 'reservebalance', 'rebuild*'],
]

/** Keys that lie on the node, and what is signed with them. */
const WALLET = [
  ...['wallet*', 'createwallet*', 'loadwallet', 'unloadwallet', 'restorewallet', 'backupwallet', 'encryptwallet'],
  ...['migratewallet', 'upgradewallet', 'upgradetohd', 'keypoolrefill', 'newkeypool', 'sethdseed', 'setwalletflag'],
  ...['settxfee', 'lockunspent', 'rescan*', 'abandontransaction', 'bumpfee', 'psbtbumpfee', 'getnewaddress'],
  ...['getrawchangeaddress', 'addmultisigaddress', 'sendtoaddress', 'sendmany', 'sendfrom', 'sendall', 'send', 'move'],
  ...['signmessage', 'signrawtransaction', 'signrawtransactionwithwallet', 'coinjoin*', 'privatesend*'],
  ...['z_sendmany', 'z_shieldcoinbase', 'z_mergetoaddress', 'z_export*', 'z_import*', 'z_getnew*'],
  ...['createcontract', 'sendtocontract', 'setdelegateforaddress', 'removedelegateforaddress', 'qrc20transfer*'],
  ...['qrc20approve', 'qrc20burn*', 'omni_send*', 'omni_funded_*'],
]

export const BITCOIN_METHODS: Methods = {
  reads: [...CHAIN, ...MEMPOOL, ...TRANSACTIONS, ...NODE, ...ADDITIONS],
  broadcasts: ['sendrawtransaction'],
  makesFilter: [],
  takesFilter: [],
  refused: [...CONTROL, ...WALLET],
  subscribes: {},
}
