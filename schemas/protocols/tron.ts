import { EVM_METHODS } from './evm-methods.ts'
import type { Protocol } from './protocol.ts'
import { jsonRpcAt, restReads, restWrites } from './routes.ts'

/** Served of the newest blocks under /wallet, and of blocks that no fork can undo under /walletsolidity. */
const READS_OF_BOTH = [
  ...['getaccount', 'getnowblock', 'getblock', 'getblockbynum', 'getblockbyid', 'getblockbylimitnext'],
  ...['getblockbylatestnum', 'gettransactioncountbyblocknum', 'gettransactionbyid', 'gettransactioninfobyid'],
  ...['gettransactioninfobyblocknum', 'getassetissuebyid', 'getassetissuebyname', 'getassetissuelistbyname'],
  ...['getassetissuebyaccount', 'getassetissuelist', 'getpaginatedassetissuelist', 'listwitnesses'],
  ...['getpaginatednowwitnesslist', 'getBrokerage', 'getReward', 'triggerconstantcontract', 'estimateenergy'],
  ...['getdelegatedresource', 'getdelegatedresourceaccountindex', 'getdelegatedresourcev2'],
  ...['getdelegatedresourceaccountindexv2', 'getcandelegatedmaxsize', 'getavailableunfreezecount'],
  ...['getcanwithdrawunfreezeamount', 'getnodeinfo', 'getenergyprices', 'getbandwidthprices', 'getburntrx'],
  ...['listexchanges', 'getexchangebyid', 'getmarketorderbyaccount', 'getmarketorderbyid'],
  ...['getmarketpricebypair', 'getmarketorderlistbypair', 'getmarketpairlist'],
]

const WALLET_READS = [
  ...['getaccountbalance', 'getaccountnet', 'getaccountresource', 'getaccountbyid', 'validateaddress'],
  ...['getblockbalance', 'getpendingsize', 'gettransactionfrompending', 'gettransactionlistfrompending'],
  ...['gettransactionreceiptbyid', 'getsignweight', 'getapprovedlist', 'getcontract', 'getcontractinfo'],
  ...['listproposals', 'getproposalbyid', 'getpaginatedproposallist', 'getpaginatedexchangelist'],
  ...['getchainparameters', 'getnextmaintenancetime', 'getmemofee', 'listnodes'],
]

/** Make transactions that their caller then signs: nothing changes by them. */
const UNSIGNED = [
  ...['createtransaction', 'createaccount', 'updateaccount', 'accountpermissionupdate', 'setaccountid'],
  ...['createassetissue', 'updateasset', 'transferasset', 'participateassetissue', 'unfreezeasset'],
  ...['deploycontract', 'triggersmartcontract', 'clearabi', 'updatesetting', 'updateenergylimit'],
  ...['createwitness', 'updatewitness', 'votewitnessaccount', 'updateBrokerage', 'withdrawbalance'],
  ...['proposalcreate', 'proposalapprove', 'proposaldelete', 'freezebalance', 'unfreezebalance'],
  ...['freezebalancev2', 'unfreezebalancev2', 'withdrawexpireunfreeze', 'cancelallunfreezev2'],
  ...['delegateresource', 'undelegateresource', 'exchangecreate', 'exchangeinject', 'exchangewithdraw'],
  ...['exchangetransaction', 'marketsellasset', 'marketcancelorder'],
]

// What signs with a key that is sent along (gettransactionsign, easytransfer), or makes keys, is not served.
const BROADCASTS = ['broadcasttransaction', 'broadcasthex']

const wallet = (names: readonly string[]) => names.map((name) => `/wallet/${name}`)

export const TRON: Protocol = {
  name: 'tron',
  networks: { mainnet: { identity: '00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc' } },
  services: [
    {
      name: '',
      routes: [
        ...restReads(['GET', 'POST'], wallet([...READS_OF_BOTH, ...WALLET_READS])),
        ...restReads(
          ['GET', 'POST'],
          READS_OF_BOTH.map((name) => `/walletsolidity/${name}`),
        ),
        ...restReads(['POST'], wallet(UNSIGNED)),
        ...restWrites(wallet(BROADCASTS)),
        ...jsonRpcAt('/jsonrpc'),
        // Nodes have it at its own path alone.
        { verbs: ['POST'], path: '/', nodePath: '/jsonrpc', form: 'json-rpc' },
      ],
      head: {
        verb: 'POST',
        path: '/wallet/getnowblock',
        body: {},
        at: ['block_header', 'raw_data', 'number'],
        as: 'number',
      },
      // The genesis block's hash, whose last four bytes are the chain id.
      identity: { verb: 'POST', path: '/wallet/getblockbynum', body: { num: 0 }, at: ['blockID'], as: 'text' },
      lagMax: 30,
    },
  ],
  methods: EVM_METHODS,
}
