import { describe, expect, test } from 'vitest'
import { rulesOf } from '../../api/gateway/method-rules.ts'
import type { Protocol } from '../../schemas/protocols/protocol.ts'
import { PROTOCOLS, protocolOf } from '../../schemas/protocols/protocols.ts'
import { PUBLIC_ACCESS } from '../../schemas/protocols/public-methods.ts'

const rulesBy = (name: string) => rulesOf(protocolOf(name) as Protocol)
const passed = (name: string, methods: readonly string[]) =>
  methods.filter((method) => !rulesBy(name).isRefused(method))
const refused = (name: string, methods: readonly string[]) => methods.filter(rulesBy(name).isRefused)

const EVM = ['ethereum', 'bsc', 'arbitrum', 'avax', 'filecoin', 'tron']
const BITCOIN = ['bitcoin', 'litecoin', 'bch', 'bsv', 'dogecoin', 'dash', 'zcash', 'omni', 'qtum']

describe('what administers a node, or uses its keys, is refused to everybody', () => {
  test.each(EVM)('%s', (name) => {
    const methods = [
      ...['debug_setHead', 'debug_resetHead', 'debug_deleteChainSlice', 'debug_insertReceipts'],
      ...['debug_migrateReceipts', 'debug_getConfigValue', 'debug_resyncWorldState', 'debug_traceBlockFromFile'],
      ...['debug_standardTraceBlockToFile', 'debug_standardTraceBadBlockToFile', 'debug_batchSendRawTransaction'],
      ...['debug_dumpBlock', 'debug_writeMemProfile', 'debug_chaindbCompact', 'debug_subscribe', 'debug_', 'debug_X'],
      ...['eth_signTransaction', 'eth_signTypedData_v4', 'admin_addPeer', 'personal_unlockAccount', 'miner_start'],
    ]
    expect(passed(name, methods)).toEqual([])
  })

  test.each(BITCOIN)('%s', (name) => {
    const methods = [
      ...['listdescriptors', 'gethdkeys', 'sendmanywithdupes', 'splitutxosforaddress', 'instantsendtoaddress'],
      ...['signrawsendertransactionwithwallet', 'signrawtransactionwithkey', 'signmessagewithprivkey'],
      ...['quorum', 'protx', 'bls', 'masternode', 'gobject', 'mnsync', 'spork', 'z_sendfromaccount', 'z_setmigration'],
      ...['z_viewtransaction', 'z_listaddresses', 'z_gettotalbalance', 'getwalletinfo', 'getbalance', 'getbalances'],
      ...[
        'listunspent',
        'listtransactions',
        'listwallets',
        'getaddressinfo',
        'fundrawtransaction',
        'stop',
        'dumpprivkey',
      ],
      ...['importprivkey', 'walletpassphrase', 'invalidateblock', 'setban', 'listbanned', 'omni_getwalletbalances'],
      ...['omni_listtransactions', 'omni_send', 'omni_setautocommit', 'createcontract', 'send', 'waitfornewblock'],
      ...['getrpcinfo', 'echo', 'nobody-knows-it', 'toString', ''],
    ]
    expect(passed(name, methods)).toEqual([])
  })
})

describe('what reads is passed on', () => {
  test.each(EVM)('%s', (name) => {
    const methods = [
      ...['debug_traceTransaction', 'debug_traceCall', 'debug_traceCallMany', 'debug_traceBlock'],
      ...['debug_traceBlockByNumber', 'debug_traceBlockByHash', 'debug_getRawBlock', 'debug_getRawReceipts'],
      ...['debug_storageRangeAt', 'debug_accountRange', 'debug_getBadBlocks', 'debug_getModifiedAccountsByNumber'],
      ...['eth_sign', 'eth_sendTransaction', 'eth_accounts', 'eth_nobodyKnowsIt', 'eth_subscribe', 'eth_unsubscribe'],
      ...['eth_newFilter', 'eth_getFilterLogs', 'eth_sendRawTransaction', 'trace_block'],
    ]
    expect(refused(name, methods)).toEqual([])
    expect(methods.slice(0, 8).filter((method) => !rulesBy(name).isRead(method))).toEqual([])
  })

  test.each(BITCOIN)('%s', (name) => {
    const methods = [
      ...['getblockchaininfo', 'getpeerinfo', 'getrawtransaction', 'sendrawtransaction', 'masternodelist'],
      ...['submitblock', 'getblocktemplate', 'omni_getbalance', 'omni_createpayload_simplesend', 'getaddressbalance'],
    ]
    expect(refused(name, methods)).toEqual([])
  })

  test.each(PUBLIC_ACCESS)('whatever the specification names of $protocol/$network', ({ protocol, methods }) => {
    expect(refused(protocol, [...methods])).toEqual([])
  })

  test('whatever a node is probed by', () => {
    for (const protocol of PROTOCOLS.filter(({ methods }) => methods !== undefined)) {
      const probes = protocol.services.flatMap(({ head, identity, final }) => [head, identity, final])
      const bodies = probes.flatMap((probe) => (probe?.body === undefined ? [] : [probe.body as { method?: string }]))
      expect(
        refused(
          protocol.name,
          bodies.flatMap(({ method }) => method ?? []),
        ),
      ).toEqual([])
    }
  })
})
