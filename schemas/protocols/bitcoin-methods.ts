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

/** Of Omni: what is in blocks, and what makes transactions that are not signed. */
const OMNI = [
  ...['getinfo', 'getbalance', 'getallbalancesforid', 'getallbalancesforaddress', 'gettransaction', 'getproperty'],
  ...['getcrowdsale', 'getactivecrowdsales', 'getactivedexsells', 'getgrants', 'getsto', 'gettrade', 'getorderbook'],
  ...['gettradehistoryforpair', 'gettradehistoryforaddress', 'getactivations', 'getpayload', 'getseedblocks'],
  ...['getcurrentconsensushash', 'getmetadexhash', 'getbalanceshash', 'getfeecache', 'getfeetrigger', 'getfeeshare'],
  ...['getfeedistribution', 'getfeedistributions', 'getnonfungibletokens', 'getnonfungibletokendata'],
  ...['getnonfungibletokenranges', 'listproperties', 'listblocktransactions', 'listblockstransactions'],
  ...['listpendingtransactions', 'decodetransaction', 'createpayload_*', 'createrawtx_*'],
]

/** What the family's others add. */
const ADDITIONS = [
  // Dash, and Zcash with its index of addresses.
  ...['getaddressbalance', 'getaddressdeltas', 'getaddressmempool', 'getaddresstxids', 'getaddressutxos'],
  ...['getspentinfo', 'getblockdeltas', 'getspecialtxes', 'getbestchainlock', 'getgovernanceinfo'],
  ...['getassetunlockstatuses', 'getsuperblockbudget', 'verifychainlock', 'verifyislock', 'masternodelist'],
  ...['getblocksubsidy', 'getrawtransactionmulti', 'gettxchainlocks', 'getislocks', 'getmerkleblocks'],
  // Zcash.
  ...['z_getblockchaininfo', 'z_gettreestate', 'z_getsubtreesbyindex', 'z_validateaddress', 'z_listunifiedreceivers'],
  ...['getnetworksolps'],
  // Bitcoin Cash, Bitcoin SV and Dogecoin.
  ...['getfinalizedblockhash', 'getexcessiveblock', 'getdsproof', 'getdsprooflist', 'getdsproofscore'],
  ...['getblockbyheight', 'getblockstatsbyheight', 'gettxouts', 'getrawnonfinalmempool', 'getorphaninfo'],
  ...['verifyscript', 'estimatepriority', 'estimatesmartpriority'],
  // Qtum.
  ...['callcontract', 'getaccountinfo', 'getstorage', 'gettransactionreceipt', 'listcontracts', 'searchlogs'],
  ...['getestimatedannualroi', 'getdelegationinfoforaddress', 'getdelegationsforstaker', 'gethexaddress'],
  ...['fromhexaddress', 'getsubsidy'],
  ...['qrc20name', 'qrc20symbol', 'qrc20totalsupply', 'qrc20decimals', 'qrc20balanceof', 'qrc20allowance'],
  ...OMNI.map((name) => `omni_${name}`),
]

/** What is passed on, and sent once. The first line is of the specification's public methods. */
const OTHERS = [
  ...['getblockfrompeer', 'preciousblock', 'pruneblockchain', 'savemempool', 'scantxoutset', 'verifychain'],
  ...['getblocktemplate', 'submitblock', 'submitheader', 'submitpackage', 'scanblocks', 'getnodeaddresses'],
  ...['getdescriptoractivity', 'getprioritisedtransactions', 'submitchainlock', 'sendrawtransactions'],
  ...['getblocktemplatelight', 'submitblocklight', 'validateblocktemplate', 'getminingcandidate'],
  ...['submitminingsolution', 'createauxblock', 'submitauxblock'],
]

/**
 * A closed list: nine chains have their own names for what administers a node, and for what uses keys that lie on it or tells of them, and each
 * release brings more. So do methods that take several commands by their first parameter (`masternode`, `quorum`, `protx`), of which some are
 * such; and what takes a private key is asked of nobody.
 */
export const BITCOIN_METHODS: Methods = {
  reads: [...CHAIN, ...MEMPOOL, ...TRANSACTIONS, ...NODE, ...ADDITIONS],
  broadcasts: ['sendrawtransaction'],
  makesFilter: [],
  takesFilter: [],
  refused: [],
  others: OTHERS,
  subscribes: {},
}
